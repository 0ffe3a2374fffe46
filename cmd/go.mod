module github.com/sluice-go/sluice/cmd

go 1.25.0

require (
	github.com/bytedance/gopkg v0.1.4
	github.com/cloudwego/gopkg v0.1.4
	github.com/cloudwego/netpoll v0.7.2
	github.com/libp2p/go-buffer-pool v0.1.0
	github.com/sluice-go/sluice v0.0.0
	github.com/spf13/cobra v1.10.2
	github.com/valyala/bytebufferpool v1.0.0
	golang.org/x/sys v0.41.0
	golang.org/x/term v0.40.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
)

replace github.com/sluice-go/sluice => ../
