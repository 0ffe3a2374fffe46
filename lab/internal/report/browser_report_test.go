package report

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
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

// A tab watches one page of this package in a browser: nothing may be asked for but the
// page itself, and the console has to stay silent.
type tab struct {
	t     *testing.T
	ctx   context.Context
	width int64

	mu       sync.Mutex
	faults   []string
	requests []string
}

func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, c, params)
		return err
	})
}

// chromium starts one browser for a test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	if underRace {
		t.Skip("it is the browser's work: there is nothing of ours to race")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-background-networking", true), chromedp.WSURLReadTimeout(time.Minute), chromedp.Env("TMPDIR="+scratch(t)))
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	t.Cleanup(func() { chromedp.Cancel(ctx) }) // waits for the process, before its directory goes
	return ctx
}

// A look is how a reader sees a page.
type look struct {
	name   string
	width  int64
	scheme string
	media  string // print, or empty
	script bool
}

func show(t *testing.T, parent context.Context, path string, l look) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, width: l.width}
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatal(err)
	}
	actions := []chromedp.Action[chromedp.Void]{
		command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}),
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: 900, DeviceScaleFactor: 1, Mobile: l.width < 500}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: l.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}),
	}
	if !l.script {
		actions = append(actions, command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	}
	b.run(append(actions, chromedp.Navigate("file://"+path))...)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.faults {
			t.Error("the console says: " + f)
		}
		for _, r := range b.requests {
			if r != "file://"+path {
				t.Errorf("the page asked for %s", r)
			}
		}
		if len(b.requests) == 0 {
			t.Error("no request was seen: the watch is broken")
		}
	})
	return b
}

func (b *tab) event(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, string(e.Type))
	case *log.EventEntryAdded:
		b.faults = append(b.faults, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// painted fails when the page is one colour, and keeps its picture in the
// directory SLUICE_SHOTS, for those who change how it looks.
func (b *tab) painted(name string) {
	b.t.Helper()
	first, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("SLUICE_SHOTS"); dir != "" {
		full, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".png"), full, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(first))
	if err != nil {
		b.t.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 3 {
			r, g, b, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if len(colours) < 20 {
		b.t.Errorf("the picture has %d colours, it looks empty", len(colours))
	}
}

// fits fails when the page is wider than the window, or, on a phone, something in it has
// to be moved sideways to be seen.
func (b *tab) fits() {
	b.t.Helper()
	// What is too wide makes the window of a phone wider.
	if w := value[string](b, fmt.Sprintf(`((width) => {
		const root = document.documentElement;
		const within = [...document.querySelectorAll("body *")].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible" && e.checkVisibility());
		if (width < 500 && within.length > 0) return "within " + within.map((e) => e.scrollWidth + " of " + e.clientWidth + ": " + e.textContent.trim().slice(0, 60)).join("; ");
		if (root.scrollWidth <= width) return "";
		const wide = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1 && !e.closest(".wide"));
		return root.scrollWidth + " of " + width + " pixels: " + wide.slice(0, 20).map((e) => e.tagName + "." + e.getAttribute("class") + " " + e.textContent.trim().slice(0, 30)).join("; ");
	})(%d)`, b.width)); w != "" {
		b.t.Errorf("the page scrolls sideways: %s", w)
	}
	if bad := value[string](b, chartTextScript); bad != "" {
		b.t.Errorf("texts in a chart: %s", bad)
	}
}

// chartTextScript names texts in charts that are cut off or stand on each other, but for the
// room that fonts have above and below letters.
const chartTextScript = `(() => {
	const bad = [];
	for (const chart of document.querySelectorAll("svg.chart")) {
		const frame = chart.getBoundingClientRect(), seen = [];
		for (const text of chart.querySelectorAll("text")) {
			const r = text.getBoundingClientRect(), pad = 0.15 * r.height, name = text.textContent;
			if (r.width === 0) continue;
			const box = { top: r.top + pad, bottom: r.bottom - pad, left: r.left + 1, right: r.right - 1, name };
			if (box.top < frame.top - 0.5 || box.bottom > frame.bottom + 0.5) bad.push(name + " is cut off");
			for (const o of seen) if (box.top < o.bottom && o.top < box.bottom && box.left < o.right && o.left < box.right) bad.push(name + " stands on " + o.name);
			seen.push(box);
		}
	}
	return bad.slice(0, 10).join("; ");
})()`

// legible fails when some text has a contrast below 4.5 to what it stands on
// (WCAG 2.2, 1.4.3); text in frames of flame graphs stands on their rectangle.
func (b *tab) legible() {
	b.t.Helper()
	if bad := value[[]string](b, legibleScript); len(bad) > 0 {
		b.t.Errorf("hard to read:\n%s", strings.Join(bad, "\n"))
	}
}

const legibleScript = `(() => {
	const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
	const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ground = (e) => {
		const frame = e.closest("svg.frame");
		if (frame) return parse(getComputedStyle(frame.querySelector("rect")).fill);
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c[3] > 0) return c;
		}
		return [255, 255, 255, 1];
	};
	const bad = new Set();
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.closest("title, script, :disabled")) continue;
		if (!e.checkVisibility()) continue;
		const style = getComputedStyle(e), front = e.closest("svg") && e.tagName === "text" ? style.fill : style.color;
		const [a, b] = [light(parse(front).slice(0, 3)), light(ground(e).slice(0, 3))].sort((x, y) => y - x);
		const contrast = (a + 0.05) / (b + 0.05);
		if (contrast < 4.5) bad.add(contrast.toFixed(2) + " " + e.tagName + "." + e.getAttribute("class") + ": " + e.textContent.trim().slice(0, 40));
	}
	return [...bad].slice(0, 20);
})()`

func TestTheReportInABrowser(t *testing.T) {
	parent := chromium(t)
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(reported(t, everything(t)...)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, l := range []look{
		{"light", 1280, "light", "", true}, {"dark", 1280, "dark", "", true},
		{"phone-light", 390, "light", "", true}, {"tablet", 660, "light", "", true}, {"phone-dark", 390, "dark", "", true},
		{"print", 794, "dark", "print", true}, // the width of A4; a reader in the dark prints on white too
		{"no-script", 1280, "light", "", false},
	} {
		t.Run(l.name, func(t *testing.T) {
			b := show(t, parent, path, l)
			b.painted(l.name)
			b.fits()
			b.legible()
			background := value[string](b, `getComputedStyle(document.body).backgroundColor`)
			if dark := background == "rgb(20, 24, 28)"; dark != (l.scheme == "dark" && l.media == "") {
				t.Errorf("the page's ground is %s", background)
			}
			if n := value[int](b, `document.querySelectorAll("svg.frame").length`); n < 40 {
				t.Errorf("%d frames of flame graphs", n)
			}
			// The verdicts are on top, before anything that has to be read or moved.
			if bottom := value[float64](b, `document.querySelector("table.verdicts").getBoundingClientRect().bottom`); bottom > 900 && l.media == "" {
				t.Errorf("the verdicts end %v pixels from the top", bottom)
			}
			if first := value[bool](b, `document.querySelector("table").classList.contains("verdicts")`); !first {
				t.Error("the first table is not the one of the verdicts")
			}
			if n := value[int](b, `document.querySelectorAll("main").length`); n != 1 {
				t.Errorf("%d elements main", n)
			}
			if n := value[int](b, `[...document.querySelectorAll(".wide")].filter((e) => e.scrollWidth > e.clientWidth && e.tabIndex < 0).length`); n > 0 && l.script {
				t.Errorf("%d tables cannot be moved with the keyboard", n)
			}
			// What was compared with what, the ratio and its interval are there on a phone too.
			if n := value[int](b, `[...document.querySelectorAll("table.scenarios :is(th, td)")].filter((e) => e.checkVisibility()).length`); n < 12 || n%6 != 0 {
				t.Errorf("%d cells of the scenarios are shown, not six of each", n)
			}
			tools := value[bool](b, `document.querySelector(".flametools").checkVisibility()`)
			if tools != (l.script && l.media == "") {
				t.Errorf("tools of flame graphs are shown: %v", tools)
			}
		})
	}
}

// A phone has little room for a table, and a number in two lines reads as two.
func TestNumbersOfAComparisonStayInOneLineOnAPhone(t *testing.T) {
	parent := chromium(t)
	old, later := opened(t, "old.json", loadFixture(1, 1, 1)), opened(t, "new.json", loadFixture(1, 1, 1))
	c := mustCompare(t, old, later, Options{})
	for i := range c.Changes {
		c.Changes[i].Old, c.Changes[i].New, c.Changes[i].Ratio = 141_000, 557_000_000, nil
		c.Changes[i].Verdict = Unsure
	}
	path := filepath.Join(t.TempDir(), "report.html")
	var text bytes.Buffer
	if err := WriteReport(&text, []*Result{old, later}, c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b := show(t, parent, path, look{"phone", 390, "light", "", true})
	b.fits()
	if broken := value[[]string](b, `[...document.querySelectorAll("table.compare td")].filter((e) => {
		const all = document.createRange();
		all.selectNodeContents(e);
		return /^([\d.,]+|undecided)$/.test(e.textContent) && new Set([...all.getClientRects()].map((r) => r.top)).size > 1;
	}).map((e) => e.textContent)`); len(broken) > 0 {
		t.Errorf("in several lines: %q", broken)
	}
}

func TestAFlameGraphIsGoneInto(t *testing.T) {
	parent := chromium(t)
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(reported(t, opened(t, "d.json", diagnosisFixture()))), 0o600); err != nil {
		t.Fatal(err)
	}
	b := show(t, parent, path, look{"", 1000, "light", "", true})
	const first = `document.querySelector(".flame")`
	const named = `[...` + first + `.querySelectorAll("svg.frame")].find((e) => e.dataset.n === "faulty.smallWrites")`
	whole := value[float64](b, named+`.getBoundingClientRect().width`)
	b.run(chromedp.Evaluate[chromedp.Void](named + `.dispatchEvent(new MouseEvent("click", {bubbles: true}))`))
	if wide := value[float64](b, named+`.getBoundingClientRect().width / `+first+`.clientWidth`); wide < 0.99 || whole > 0.9*float64(value[int](b, first+`.clientWidth`)) {
		t.Errorf("gone into, it takes %v of the width; before it took %v pixels", wide, whole)
	}
	if n := value[int](b, `[...`+first+`.querySelectorAll("svg.frame")].filter((e) => e.dataset.n.startsWith("main.leaf") && e.style.display !== "none").length`); n != 0 {
		t.Errorf("%d frames beside it are still shown", n)
	}
	b.run(chromedp.Evaluate[chromedp.Void](first + `.querySelector("button").click()`))
	if back := value[float64](b, named+`.getBoundingClientRect().width`); back < whole-1 || back > whole+1 {
		t.Errorf("gone back, it is %v wide, was %v", back, whole)
	}
	b.run(chromedp.Evaluate[chromedp.Void](`(() => { const i = ` + first + `.querySelector("input"); i.value = "SYSCALL.write"; i.dispatchEvent(new Event("input")); })()`))
	if n, said := value[int](b, first+`.querySelectorAll(".hit").length`), value[string](b, first+`.querySelector("output").textContent`); n != 1 || !strings.HasSuffix(said, " %") {
		t.Errorf("%d frames found, %q", n, said)
	}
	// By the keyboard alone: Enter goes into the widest of what was found.
	b.run(chromedp.Evaluate[chromedp.Void](`(() => { const i = ` + first + `.querySelector("input"); i.value = "smallWrites"; i.dispatchEvent(new Event("input")); i.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"})); })()`))
	if wide := value[float64](b, named+`.getBoundingClientRect().width / `+first+`.clientWidth`); wide < 0.99 {
		t.Errorf("gone into by Enter, it takes %v of the width", wide)
	}
}

func TestHostileNamesDoNotRunInABrowser(t *testing.T) {
	parent := chromium(t)
	const evil = `</script><script>document.title="pwned"</script><img src="http://127.0.0.1:1/x" onerror="document.title='pwned'">`
	d := diagnosisFixture()
	d.Evidence.Workload, d.Findings[0].Clue, d.Evidence.CPU.Stacks[0].Frames[0].Func = evil, evil, evil
	d.Evidence.CPU.Stacks[1].Frames[0].Func = strings.Repeat("long", 200)
	d.Findings[0].Top = strings.Repeat("long", 200)
	l := loadFixture(1, 1, 1)
	l.Plan.Target, l.Command = strings.Repeat("target", 100), []string{evil, strings.Repeat("x", 2000)}
	l.Machine.CPU = strings.Repeat("cpu", 200)
	path := filepath.Join(t.TempDir(), "report.html")
	page := reported(t, opened(t, strings.Repeat("name", 60)+".json", l), opened(t, evil, d), opened(t, "grid.json", matrixFixture(1, 1)))
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{390, 1280} {
		b := show(t, parent, path, look{"", width, "light", "", true})
		b.painted("hostile")
		b.fits()
		if title := value[string](b, `document.title`); title == "pwned" || value[int](b, `document.querySelectorAll("img").length`) != 0 {
			t.Errorf("a name was run: the title is %s", title)
		}
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
