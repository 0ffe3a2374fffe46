// Command sluicevet checks the ownership of borrowed, retained and pooled
// memory; package ownership says how. It runs by itself (sluicevet ./...) and
// under go vet (go vet -vettool=$(which sluicevet) ./...).
package main

import "github.com/sluice-go/sluice/vet/internal/command"

func main() { command.Main() }
