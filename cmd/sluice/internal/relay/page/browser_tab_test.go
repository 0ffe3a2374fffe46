package page

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// atOnce is how many tests that are marked parallel run at a time, on however
// few processors: they wait most of the time.
const atOnce = "4"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", atOnce) // what the command line gives comes later
	os.Exit(m.Run())
}

// browser starts a Chromium, which make test installs, for the tests of this one.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine: scripts/ensure-tools.sh installs one")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-background-networking", true), chromedp.WSURLReadTimeout(time.Minute), chromedp.Env("TMPDIR="+scratch(t)))
	ctx, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	t.Cleanup(func() { chromedp.Cancel(ctx) }) // waits for the process, before its directory goes
	return ctx
}

// longest bounds every wait for the page: some tabs share two processors with other tests.
const longest = 2 * time.Minute

// A tab watches one page of the fake server.
type tab struct {
	t      *testing.T
	ctx    context.Context
	server *fakeServer

	allowed []string // parts of what the console may say

	mu       sync.Mutex
	faults   []string
	requests []string
}

const (
	phone   = 360
	desktop = 1280
)

func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, c, params)
		return err
	})
}

// open shows a path of the server in a tab that fails the test when the page
// asks another host, or complains in the console of anything but what is allowed.
func open(t *testing.T, parent context.Context, server *fakeServer, path string, width int64, dark bool, allowed ...string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, server: server, allowed: allowed}
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.run(
		command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}),
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width == phone}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		chromedp.Navigate(server.URL+path),
	)
	t.Cleanup(func() {
		for _, f := range b.complaints() {
			t.Error("the console says: " + f)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, r := range b.requests {
			origin := strings.TrimPrefix(server.URL, "http")
			plain := strings.TrimPrefix(strings.TrimPrefix(r, "http"), "ws")
			if server.other != "" && strings.HasPrefix(plain, strings.TrimPrefix(server.other, "http")+"/") {
				continue
			}
			rest, ok := strings.CutPrefix(plain, origin)
			// The icons of the browser's own controls are data.
			if !strings.HasPrefix(r, "blob:"+server.URL) && !strings.HasPrefix(r, "data:") && (!ok || rest != "" && rest[0] != '/') {
				t.Errorf("the page asked for %s", r)
			}
		}
		if len(b.requests) == 0 {
			t.Error("no request was seen: the watch is broken")
		}
	})
	return b
}

// complaints are what the console says and may not.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, f := range b.faults {
		if !slices.ContainsFunc(b.allowed, func(a string) bool { return strings.Contains(f, a) }) {
			list = append(list, f)
		}
	}
	return list
}

// seen are the addresses that the page has asked for.
func (b *tab) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

func (b *tab) event(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.faults = append(b.faults, text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			b.faults = append(b.faults, strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.faults = append(b.faults, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		b.requests = append(b.requests, e.URL)
	}
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for a condition in the page. It asks again and again from here:
// the library's own way makes a function of text, which the page's policy refuses.
func (b *tab) until(condition string) {
	b.t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	late := time.After(longest)
	for !value[bool](b, "Boolean("+condition+")") {
		if len(b.complaints()) > 0 {
			b.t.Fatalf("gave up waiting for %s", condition)
		}
		select {
		case <-again.C:
		case <-late:
			b.t.Fatalf("waited in vain for %s in\n%s", condition, value[string](b, "document.body.innerText"))
		}
	}
}

// do runs a script in the page.
func (b *tab) do(script string) {
	b.t.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](script))
}

func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// shoot keeps a picture of the page in the directory SLUICE_SHOTS, for
// those who change how it looks.
func (b *tab) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SLUICE_SHOTS")
	if dir == "" {
		return
	}
	first, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	full, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	for suffix, p := range map[string][]byte{"": first, "-full": full} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix+".png"), p, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// fits fails when the page is wider than the window, or something in it is
// cut off at the side.
func (b *tab) fits() {
	b.t.Helper()
	if w := value[string](b, `(() => {
		const root = document.documentElement;
		if (root.scrollWidth <= root.clientWidth && root.clientWidth <= innerWidth) return "";
		const wide = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1);
		return root.scrollWidth + " of " + innerWidth + " pixels: " + wide.map((e) => e.tagName + "#" + e.id + "." + e.className).join(" ");
	})()`); w != "" {
		b.t.Errorf("the page scrolls sideways: %s", w)
	}
}

// legible fails when some text that is shown has a contrast below 4.5 to what
// it stands on (WCAG 2.2, 1.4.3).
func (b *tab) legible() {
	b.t.Helper()
	if bad := value[[]string](b, legibleScript); len(bad) > 0 {
		b.t.Errorf("hard to read:\n%s", strings.Join(bad, "\n"))
	}
}

const legibleScript = `(() => {
	const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
	const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
	const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ground = (e) => {
		const layers = [];
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c[3] > 0) layers.push(c);
			if (c[3] === 1) break;
		}
		return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255]);
	};
	const bad = [];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.closest(":disabled, .gone, noscript, option, .unseen")) continue;
		if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
		const under = ground(e);
		const [a, b] = [light(over(parse(getComputedStyle(e).color), under)), light(under)].sort((x, y) => y - x);
		const contrast = (a + 0.05) / (b + 0.05);
		if (contrast < 4.5) bad.push(contrast.toFixed(2) + " " + e.tagName + "." + e.className + ": " + e.textContent.trim().slice(0, 40));
	}
	return bad;
})()`

// named fails when a control has no accessible name.
func (b *tab) named() {
	b.t.Helper()
	if bad := value[[]string](b, `[...document.querySelectorAll("button, a[href], input, select, video")].filter((e) =>
		e.checkVisibility() && !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim() && e.tagName !== "SELECT" ||
			e.labels && [...e.labels].some((l) => l.textContent.trim()))).map((e) => e.outerHTML.slice(0, 80))`); len(bad) > 0 {
		b.t.Errorf("without a name:\n%s", strings.Join(bad, "\n"))
	}
}

// scratch is where a browser that is killed leaves its socket, for which t.TempDir's path may be too long.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
