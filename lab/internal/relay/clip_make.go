package relay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// FFmpeg returns the path of the program that makes the clip, or an error that
// wraps errors.ErrUnsupported.
func FFmpeg() (string, error) {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return "", fmt.Errorf("relay: no ffmpeg here: %w", errors.ErrUnsupported)
	}
	return path, nil
}

// clipArgs are ten seconds of 1280x720 at 30 frames a second with a key frame
// every two seconds. Without noise a test picture does not need its 2 Mbit/s, and
// without it in the sound AAC would send next to nothing.
var clipArgs = strings.Fields(`-nostdin -loglevel error -y
	-f lavfi -i testsrc2=size=1280x720:rate=30,noise=alls=12:allf=t
	-f lavfi -i anoisesrc=r=44100:a=0.1:seed=1 -t 10
	-c:v libx264 -preset veryfast -tune zerolatency -pix_fmt yuv420p
	-b:v 2000k -minrate 2000k -maxrate 2000k -bufsize 1000k -g 60 -keyint_min 60 -sc_threshold 0
	-c:a aac -ac 2 -b:a 128k -f flv`)

// MakeClip has ffmpeg make the clip in dir, which takes some seconds, and
// returns the FLV file.
func MakeClip(ctx context.Context, dir string) ([]byte, error) {
	ffmpeg, err := FFmpeg()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "made.flv")
	said, err := exec.CommandContext(ctx, ffmpeg, append(clipArgs, path)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("relay: ffmpeg makes no clip: %w: %.300s", err, said)
	}
	defer os.Remove(path)
	return os.ReadFile(path)
}
