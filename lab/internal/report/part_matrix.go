package report

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// A gridPart is what a page says of one matrix.
type gridPart struct {
	In     *inputLine
	Title  string
	About  string
	Doubts []string
	Layers []layerPart
}

// A layerPart is one layer of a grid with a heat map for each figure.
type layerPart struct {
	Name  string
	Knees []string
	Maps  []heatmap
}

func newGridPart(in *inputLine, f *matrix.File) gridPart {
	p := gridPart{In: in, Title: in.About, Doubts: f.Forced}
	runs, invalid, empty := 0, 0, len(f.Layers)*len(f.Rows.Values)*len(f.Columns.Values)
	for _, c := range f.Cells {
		if len(c.Runs) > 0 {
			empty--
		}
		for _, r := range c.Runs {
			runs++
			if !r.Valid {
				invalid++
			}
		}
	}
	p.About = fmt.Sprintf("%s of %s in %s; %s of %s each were asked for", units.Plural(runs, "run"), windowText(f.CellTime), units.Span(time.Duration(f.Seconds*float64(time.Second))), units.Plural(f.Repeats, "round"), "every cell")
	if invalid > 0 {
		p.About += fmt.Sprintf("; %d not valid", invalid)
	}
	if empty > 0 {
		p.About += fmt.Sprintf("; %s not measured", units.Plural(empty, "cell"))
	}
	maps := heatmaps(f, in.ID)
	for l, name := range f.Layers {
		layer := layerPart{Name: name, Maps: maps[l*len(f.Figures) : (l+1)*len(f.Figures)]}
		for i := range f.Knees {
			if f.Knees[i].Layer == l {
				layer.Knees = append(layer.Knees, kneeText(&f.Knees[i]))
			}
		}
		p.Layers = append(p.Layers, layer)
	}
	return p
}
