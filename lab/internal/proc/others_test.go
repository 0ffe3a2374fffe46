package proc_test

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// A child counts to others for as long as it runs, and to this process once it has ended.
func TestOthersAreNeitherThisProcessNorItsChildren(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what other programs use is known on Linux only")
	}
	spin := exec.Command("sh", "-c", "while :; do :; done")
	before := proc.ReadOthers()
	if err := spin.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() {
		spin.Process.Kill()
		spin.Wait()
	}
	defer end()
	var used float64
	of := 0
	began := time.Now()
	wait := time.NewTicker(50 * time.Millisecond)
	defer wait.Stop()
	for used*time.Since(began).Seconds() < 0.5 {
		if time.Since(began) > time.Minute {
			t.Fatalf("of a child that spins for %v: %.2f of %d processors", time.Since(began), used, of)
		}
		<-wait.C
		used, of = before.To(proc.ReadOthers())
	}
	if of < runtime.NumCPU() || used > float64(of) {
		t.Errorf("%.2f of %d processors", used, of)
	}
	spent, err := proc.CPU(spin.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	running := proc.ReadOthers()
	end()
	// All that it has used is taken away at once, whatever other programs use meanwhile.
	ended := proc.ReadOthers()
	if used, of := running.To(ended); used > max(0, float64(of)-(spent-100*time.Millisecond).Seconds()/ended.Since(running).Seconds()) {
		t.Errorf("its end counts as %.2f processors of others", used)
	}
}
