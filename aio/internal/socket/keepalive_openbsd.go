package socket

// keepAliveTimes: the times are settings of the system.
var keepAliveTimes []int
