package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// rateUnits are what a rate in bytes may be given in.
var rateUnits = map[string]float64{
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	"bit": 1.0 / 8, "kbit": 1e3 / 8, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8,
}

// parseRate reads a rate: requests a second, or with a unit bytes a second.
func parseRate(text string) (rate float64, bytes bool, err error) {
	value := strings.TrimSpace(strings.TrimSuffix(text, "/s"))
	number := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	factor := 1.0
	if unit := value[len(number):]; unit != "" {
		if factor, bytes = rateUnits[unit]; !bytes {
			return 0, false, badRate(text)
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n >= 0 && n <= 1e15) {
		return 0, false, badRate(text)
	}
	return n * factor, bytes, nil
}

func badRate(text string) error {
	return fmt.Errorf("%.40q is not a rate such as 5000, 5000/s, 20MB/s, 10MiB/s or 80Mbit/s", text)
}
