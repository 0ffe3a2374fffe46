package ownership

import (
	"fmt"
	"go/token"
	"path/filepath"

	"golang.org/x/tools/go/analysis"

	"github.com/sluice-go/sluice/vet/internal/flow"
)

// diagnostic says a finding in words, with both places.
func diagnostic(pass *analysis.Pass, f flow.Finding) analysis.Diagnostic {
	at := func(pos token.Pos) string { return where(pass.Fset, pos, f.Pos) }
	from := fmt.Sprintf("%s from %s (%s)", f.Noun(), f.FromText, at(f.From))
	ended := fmt.Sprintf("%s (%s)", f.EndText, at(f.End))
	d := analysis.Diagnostic{Pos: f.Pos, Category: string(f.Category)}
	begin, end := "taken here", "ended here"
	if f.Borrowed() {
		begin = "borrowed here"
	}
	switch f.Category {
	case flow.UseAfterEnd:
		d.Message = fmt.Sprintf("%s used after %s ended them", from, ended)
	case flow.ReturnedEnded:
		d.Message = fmt.Sprintf("%s returned after %s ended them", from, ended)
	case flow.Outlives:
		if !f.Borrowed() {
			d.Message = fmt.Sprintf("bytes of the %s stored in %s, where they are after %s released it", from, flow.Where(f.Use), ended)
			end = "released here"
			break
		}
		d.Message = fmt.Sprintf("%s stored in %s, where they outlive their end", from, f.EndText)
		end = "stored here"
	case flow.UseAfterRelease:
		d.Message = fmt.Sprintf("%s used after %s released it", from, ended)
		end = "released here"
	case flow.ReleasedTwice:
		d.Message = fmt.Sprintf("%s released twice, first by %s", from, ended)
		end = "released here first"
	case flow.UseAfterTransfer:
		d.Message = fmt.Sprintf("%s used after it was transferred to %s", from, ended)
		end = "transferred here"
	case flow.Copied:
		d.Message = fmt.Sprintf("%s copied: %s has it already", from, ended)
		end = "first here"
	case flow.NotReleased:
		d.Message, end = leakText(f, at), "not released here"
	}
	if f.From.IsValid() && f.From != f.Pos {
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: f.From, Message: begin})
	}
	if f.End.IsValid() && f.End != f.Pos {
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: f.End, Message: end})
	}
	d.SuggestedFixes = fixes(pass, f)
	return d
}

func leakText(f flow.Finding, at func(token.Pos) string) string {
	switch {
	case f.Source.Promised:
		return fmt.Sprintf("%s is transferred to this function, which neither releases it nor hands it on here", f.FromText)
	case f.Source.Kind == flow.Param:
		return fmt.Sprintf("%s is released or transferred on other paths, but not on this one", f.FromText)
	case f.EndText != "":
		return fmt.Sprintf("%s from %s is not released %s", f.Noun(), f.FromText, f.EndText)
	}
	return fmt.Sprintf("%s from %s is not released on the path that ends at %s", f.Noun(), f.FromText, at(f.End))
}

// where is a place beside another one: the file is named only if it differs.
func where(fset *token.FileSet, pos, beside token.Pos) string {
	p, q := fset.Position(pos), fset.Position(beside)
	if p.Filename == q.Filename {
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}
