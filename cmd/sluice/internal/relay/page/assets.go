package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed assets
var files embed.FS

// embedded are the parts of the page by their path below assets.
var embedded = load(files)

// types are listed here, because the system's tables differ: on some machines
// scripts are text/plain there, and browsers refuse such modules.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
	".md":   "text/plain; charset=utf-8",
	"":      "text/plain; charset=utf-8", // LICENSE
}

func load(from fs.FS) map[string]*asset {
	list := make(map[string]*asset)
	err := fs.WalkDir(from, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasPrefix(name, parts) {
			return nil
		}
		content, err := fs.ReadFile(from, name)
		if path.Ext(name) == ".html" {
			content = withParts(from, content)
		}
		list[strings.TrimPrefix(name, "assets/")] = newAsset(name, content)
		return err
	})
	if err != nil {
		panic("page: " + err.Error()) // the file system is in the binary
	}
	return list
}

// parts has what several pages have in common.
const parts = "assets/parts/"

// withParts puts the parts that a page names into it.
func withParts(from fs.FS, content []byte) []byte {
	list, err := fs.ReadDir(from, strings.TrimSuffix(parts, "/"))
	if err != nil {
		return content // no page has any
	}
	for _, d := range list {
		part, err := fs.ReadFile(from, parts+d.Name())
		if err != nil {
			panic("page: " + err.Error())
		}
		content = bytes.ReplaceAll(content, fmt.Appendf(nil, "<!-- part %s -->\n", strings.TrimSuffix(d.Name(), ".html")), part)
	}
	return content
}

// An asset is immutable. Its compressed form is made at the first request, since
// most runs of the program serve no page.
type asset struct {
	contentType string
	content     []byte
	tag         func() string
	compressed  func() []byte // nil when that is not smaller
}

func newAsset(name string, content []byte) *asset {
	contentType, ok := types[path.Ext(name)]
	if !ok {
		panic(fmt.Sprintf("page: no type for %q", name))
	}
	return &asset{
		contentType: contentType,
		content:     content,
		tag: sync.OnceValue(func() string {
			sum := sha256.Sum256(content)
			return hex.EncodeToString(sum[:12])
		}),
		compressed: sync.OnceValue(func() []byte { return compress(content) }),
	}
}

func compress(content []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic("page: " + err.Error()) // a bytes.Buffer takes everything
	}
	if b.Len() >= len(content) {
		return nil
	}
	return b.Bytes()
}

// serve answers GET and HEAD. The plain and the compressed form have different
// tags, as strong tags must.
func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	body, etag := a.content, `"`+a.tag()+`"`
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		if z := a.compressed(); z != nil {
			body, etag = z, `"`+a.tag()+`-gz"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", etag)
	if matches(r.Header.Get("If-None-Match"), etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	w.Write(body)
}
