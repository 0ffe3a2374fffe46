package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
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

// parseWindows reads "throughput=1s,p99=100ms"; what is not named has its default.
func parseWindows(text string) (load.Windows, error) {
	w := load.DefaultWindows()
	names := map[string]*time.Duration{"throughput": &w.Throughput, "mean": &w.Mean, "p99": &w.P99, "jitter": &w.Jitter}
	given := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		to := names[name]
		if !ok || to == nil {
			return w, fmt.Errorf("invalid window %.40q: it is like throughput=1s, mean=5s, p99=100ms or jitter=5s", part)
		}
		if given[name] {
			return w, fmt.Errorf("%s is given twice", name)
		}
		given[name] = true
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > 24*time.Hour {
			return w, fmt.Errorf("invalid duration %s=%.40s: it is like 100ms", name, value)
		}
		*to = d
	}
	return w, nil
}

// windowsText is what parseWindows reads.
func windowsText(w load.Windows) string {
	return fmt.Sprintf("throughput=%v,mean=%v,p99=%v,jitter=%v", w.Throughput, w.Mean, w.P99, w.Jitter)
}

// parseFaults reads the faults one by one.
func parseFaults(list []string) (load.Faults, error) {
	var f load.Faults
	given := map[string]bool{}
	for _, text := range list {
		name, value, _ := strings.Cut(text, "=")
		if given[name] {
			return f, fmt.Errorf("%s is given twice", name)
		}
		given[name] = true
		var err error
		switch name {
		case "slow":
			f.SlowConns, f.SlowRate, err = parseSlow(value)
		case "reset":
			if f.ResetEvery, err = strconv.Atoi(value); err != nil || f.ResetEvery < 1 {
				err = errors.New("want reset=N, a number of requests, such as reset=1000")
			}
		case "pause":
			f.PauseFor, f.PauseEvery, err = parsePause(value)
		default:
			err = errors.New("there are slow=N:BYTES/s, reset=N and pause=FOR/EVERY")
		}
		if err != nil {
			return f, fmt.Errorf("%.60q: %w", text, err)
		}
	}
	return f, nil
}

func parseSlow(text string) (conns int, rate float64, err error) {
	number, value, ok := strings.Cut(text, ":")
	conns, err = strconv.Atoi(number)
	if err == nil {
		rate, _, err = parseRate(value)
	}
	if !ok || err != nil || conns < 1 || rate < 1 {
		return 0, 0, errors.New("want slow=N:BYTES/s, such as slow=2:1kB/s")
	}
	return conns, rate, nil
}

func parsePause(text string) (lasts, every time.Duration, err error) {
	first, second, _ := strings.Cut(text, "/")
	lasts, err = time.ParseDuration(first)
	if err == nil {
		every, err = time.ParseDuration(second)
	}
	const most = 24 * time.Hour
	if err != nil || lasts <= 0 || every <= 0 || lasts > most || every > most {
		return 0, 0, errors.New("want pause=FOR/EVERY, such as pause=200ms/2s")
	}
	return lasts, every, nil
}
