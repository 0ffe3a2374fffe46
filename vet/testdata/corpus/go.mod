module example.com/corpus

go 1.25.0

require (
	github.com/cloudwego/gopkg v0.1.4
	github.com/cloudwego/netpoll v0.7.2
	github.com/panjf2000/gnet/v2 v2.0.0
	github.com/sluice-go/sluice v0.0.0
	github.com/valyala/bytebufferpool v1.0.0
	github.com/valyala/fasthttp v1.0.0
	golang.org/x/sync v0.19.0
	google.golang.org/grpc v1.60.0
)

require golang.org/x/sys v0.41.0 // indirect

replace (
	github.com/cloudwego/gopkg => ./stubs/gopkg
	github.com/cloudwego/netpoll => ./stubs/netpoll
	github.com/panjf2000/gnet/v2 => ./stubs/gnet
	github.com/sluice-go/sluice => ../../..
	github.com/valyala/bytebufferpool => ./stubs/bytebufferpool
	github.com/valyala/fasthttp => ./stubs/fasthttp
	golang.org/x/sync => ./stubs/sync
	google.golang.org/grpc => ./stubs/grpc
)
