package cli

import "embed"

//go:embed help
var helpTexts embed.FS

// helpText is what --help says of a command.
func helpText(command string) string {
	text, err := helpTexts.ReadFile("help/" + command + ".txt")
	if err != nil {
		panic("cli: " + err.Error())
	}
	return string(text)
}
