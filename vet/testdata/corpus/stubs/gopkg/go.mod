module github.com/cloudwego/gopkg

go 1.25.0
