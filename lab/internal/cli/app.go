package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

const (
	ExitOK       = 0
	ExitFailure  = 1 // something that was asked for could not be done
	ExitUsage    = 2 // the command line was wrong; nothing was done
	ExitUnusable = 3 // interrupted, or a comparison was invalid: what is there is not all
	ExitMissed   = 4 // bench --full --check: a target was missed
)

// An App is what the command line works on.
type App struct {
	Scenarios []lab.Scenario
	Children  map[string]func(args []string) error // hidden commands that scenarios start as processes
	Stdout    io.Writer
	Stderr    io.Writer

	args []string // of the call of Main
}

// An exitError carries an exit code other than ExitUsage, which is that of
// every other error. It may have no text, when all has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// fail makes an error one that is not the command line's.
func fail(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{ExitFailure, err}
}

// buildVersion is the module's version, which the go command takes from the commit where
// there is one.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return strings.Trim(info.Main.Version, "()")
}

// called is the command line without what is secret in it.
func (a App) called() []string {
	list := []string{"lab"}
	for i, arg := range a.args {
		before := ""
		if i > 0 {
			before = a.args[i-1] + "="
		}
		for flag, hide := range map[string]func(string) string{"--header=": wire.PublicHeader, "--command=": wire.PublicCommand} {
			if value, joined := strings.CutPrefix(arg, flag); joined {
				arg = flag + hide(value)
			} else if before == flag {
				arg = hide(arg)
			}
		}
		list = append(list, wire.Public(arg))
	}
	return list
}

// interrupts are the signals that end a run early. A hang-up is not among them when the
// caller asked for that, as nohup does.
func interrupts(more ...os.Signal) []os.Signal {
	list := append(more, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// signalled ends with the first signal. Another one ends the program at once, unless it comes together with the first:
// timeout(1) sends one to the process and one to its group.
func signalled() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	context.AfterFunc(ctx, func() { time.AfterFunc(serverGrace/10, stop) })
	return ctx, stop
}

// interruptible is a run that ends too when nothing reads its output any more: one into head, say,
// still removes its files. The signal alone does not say that: targets that end connections cause it.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signalled()
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	go func() {
		defer signal.Stop(broken)
		for {
			select {
			case <-broken:
				if outputClosed() {
					stop()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, stop
}

func printer(w io.Writer) *document.Printer {
	return document.NewPrinter(w, colourful(w)).Within(columns(w))
}

func printed(w io.Writer, items ...document.Item) error {
	p := printer(w)
	p.Print(items...)
	return p.Err()
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func columns(w io.Writer) int {
	if !terminal(w) {
		return 0
	}
	n, _, _ := term.GetSize(int(w.(*os.File).Fd())) // 0 with an error
	return n
}

// colourful reports whether w is a terminal that shows colours and the user has
// not refused them.
func colourful(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal(w)
}
