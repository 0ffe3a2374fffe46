module github.com/panjf2000/gnet/v2

go 1.25.0
