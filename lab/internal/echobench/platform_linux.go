package echobench

func platform() error { return nil }
