package cli

import _ "embed"

// The texts of --help.
var (
	//go:embed help/bench.txt
	benchText string
	//go:embed help/diagnose.txt
	diagnoseText string
	//go:embed help/load.txt
	loadText string
	//go:embed help/matrix.txt
	matrixText string
	//go:embed help/report.txt
	reportText string
	//go:embed help/echo.txt
	echoText string
	//go:embed help/sink.txt
	sinkText string
	//go:embed help/sink-verify.txt
	sinkVerifyText string
)
