module github.com/sluice-go/sluice

go 1.25.0

require golang.org/x/sys v0.41.0
