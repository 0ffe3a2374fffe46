module github.com/cloudwego/netpoll

go 1.25.0
