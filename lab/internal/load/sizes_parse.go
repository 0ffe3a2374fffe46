package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// mostHistogram is how long the file of a histogram may be, in bytes.
const mostHistogram = 1 << 20

// sizeUnits are the units of a length, which may be written in either case.
// A K alone is not among them: some take it for 1000, some for 1024.
var sizeUnits = []struct {
	name  string
	bytes int
}{
	{"B", 1}, {"kB", 1000}, {"KiB", 1 << 10}, {"MB", 1_000_000}, {"MiB", 1 << 20},
}

// ParseSizes parses sizes: a length such as "128" or "4KiB", a
// range such as "64..1KiB" or "64-1024", its ends included, or "@FILE" for a
// histogram: in each line a length and its weight, any number; # begins a comment.
// Units are B, kB, KiB, MB and MiB.
func ParseSizes(text string) (Sizes, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		return readHistogram(path)
	}
	low, high, ranged := strings.Cut(text, "..")
	if !ranged {
		low, high, ranged = strings.Cut(text, "-")
	}
	if !ranged {
		high = low
	}
	var s Sizes
	var err error
	if s.Min, err = parseSize(low); err != nil {
		return Sizes{}, err
	}
	if s.Max, err = parseSize(high); err != nil {
		return Sizes{}, err
	}
	if s.Min > s.Max {
		return Sizes{}, fmt.Errorf("a range from %s down to %s", low, high)
	}
	return s, nil
}

// parseSize reads one length.
func parseSize(text string) (int, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(text, "BbIiKkMm")
	unit, factor := text[len(digits):], 1
	if unit != "" {
		factor = 0
		for _, u := range sizeUnits {
			if strings.EqualFold(u.name, unit) {
				factor = u.bytes
			}
		}
	}
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && factor > 0 && n > uint64(MaxSize/factor):
		return 0, fmt.Errorf("a size of %.40s is more than %s", text, sizeText(MaxSize))
	case err != nil || factor == 0:
		return 0, fmt.Errorf("%.40q is no size, such as 128, 4KiB or 64..1024; units are B, kB, KiB, MB and MiB", text)
	case n == 0:
		return 0, errors.New("a size of 0 bytes is none")
	}
	return int(n) * factor, nil
}

func readHistogram(path string) (Sizes, error) {
	f, err := os.Open(path)
	if err != nil {
		return Sizes{}, err
	}
	defer f.Close()
	s, err := parseHistogram(f)
	if err != nil {
		return Sizes{}, fmt.Errorf("%s%w", path, err)
	}
	return s, nil
}

// parseHistogram gives errors that begin with the line, to stand behind the name
// of the file: ":12: ...".
func parseHistogram(r io.Reader) (Sizes, error) {
	limited := &io.LimitedReader{R: r, N: mostHistogram + 1}
	lines := bufio.NewScanner(limited)
	at := map[int]int{} // places of lengths in weights
	var weights []Weight
	number := 0
	for lines.Scan() {
		number++
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' || c == ',' || c == '\r' })
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return Sizes{}, fmt.Errorf(":%d: want a size and its weight, got %.60q", number, strings.TrimSpace(line))
		}
		n, err := parseSize(fields[0])
		if err != nil {
			return Sizes{}, fmt.Errorf(":%d: %w", number, err)
		}
		w, err := strconv.ParseFloat(fields[1], 64)
		if err != nil || !(w >= 0 && w <= 1e15) {
			return Sizes{}, fmt.Errorf(":%d: a weight of %.40s is not within 0 and 1e15", number, fields[1])
		}
		i, twice := at[n]
		if !twice {
			i = len(weights)
			if i == MaxWeights {
				return Sizes{}, fmt.Errorf(":%d: more than %d sizes", number, MaxWeights)
			}
			at[n] = i
			weights = append(weights, Weight{Bytes: n})
		}
		weights[i].Weight += w
	}
	switch err := lines.Err(); {
	case limited.N == 0:
		return Sizes{}, fmt.Errorf(": longer than %s", sizeText(mostHistogram))
	case errors.Is(err, bufio.ErrTooLong):
		return Sizes{}, fmt.Errorf(":%d: a line of more than %s", number+1, sizeText(bufio.MaxScanTokenSize))
	case err != nil:
		return Sizes{}, fmt.Errorf(": %w", err)
	case len(weights) == 0:
		return Sizes{}, errors.New(": there is no size in it")
	}
	s := Weighted(weights)
	if err := s.Check(); err != nil {
		return Sizes{}, fmt.Errorf(": %w", err)
	}
	return s, nil
}
