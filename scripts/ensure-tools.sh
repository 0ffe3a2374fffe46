#!/bin/sh
# Checks that the tools which make test needs are installed: installs what is
# missing where it is root on a machine with apt, and says what to install
# elsewhere. With -n it installs nothing.
set -eu

# commands or files, any of which will do | Debian packages | what needs it
tools='
gcc clang|gcc libc6-dev|the race detector needs cgo
chromium-headless-shell chromium chromium-browser google-chrome|chromium-headless-shell|tests open the HTML report and the page of the relay in a browser
ffmpeg|ffmpeg|tests publish to the relay and play from it
haproxy|haproxy|tests put the relay behind a proxy
ffprobe|ffmpeg|tests look at what was recorded and played
nginx|nginx-light|tests put the relay behind a proxy, and load on nginx
/usr/lib/nginx/modules/ngx_stream_module.so|libnginx-mod-stream|tests put the relay behind a proxy
/usr/lib/nginx/modules/ngx_rtmp_module.so|libnginx-mod-rtmp|tests of sluice abuse try a second server
redis-server|redis-server|tests put load on Redis
qemu-aarch64|qemu-user|make emulated runs tests for other processors
ip|iproute2|tests of slow lines make a network namespace each
tc|iproute2|tests of slow lines slow them down
openssl|openssl|tests have it change keys and ask for other handshakes in TLS
shellcheck|shellcheck|the scripts are checked
strace|strace|the tests of lab diagnose look at system calls
perf|linux-perf|the tests of lab diagnose count and sample
'

case "${1-}" in
'' | -n) ;;
compare)
	tools="$tools
wrk|wrk|make compare-load
redis-benchmark|redis-tools|make compare-load
fio|fio|make compare-load
"
	;;
players)
	# 30 MB, a quarter of a minute.
	plugins=/usr/lib/$(uname -m)-linux-gnu/gstreamer-1.0
	tools="$tools
buildah|buildah|make long builds the image
iptables|iptables|make long has lines between nodes lose packets
gst-launch-1.0|gstreamer1.0-tools|make long has GStreamer play and publish
$plugins/libgstsrt.so|gstreamer1.0-plugins-bad|make long has GStreamer play and publish
$plugins/libgstflv.so|gstreamer1.0-plugins-good|make long has GStreamer play and publish
$plugins/libgstx264.so|gstreamer1.0-plugins-ugly|make long has GStreamer play and publish
$plugins/libgstlibav.so|gstreamer1.0-libav|make long has GStreamer play and publish
$plugins/libgstrtspclientsink.so|gstreamer1.0-rtsp|make long has GStreamer publish by RTSP
cvlc|vlc-bin|make long has VLC play
/usr/lib/$(uname -m)-linux-gnu/vlc/plugins/access/libaccess_imem_plugin.so|vlc-plugin-base|make long has VLC play
$plugins/libgstvideoparsersbad.so|gstreamer1.0-plugins-bad|make long has GStreamer play and publish
$plugins/libgstvideotestsrc.so|gstreamer1.0-plugins-base|make long has GStreamer play and publish
/usr/lib/$(uname -m)-linux-gnu/vlc/plugins/access/libaccess_srt_plugin.so|vlc-plugin-access-extra|make long has VLC play
"
	;;
-h | --help)
	echo "usage: scripts/ensure-tools.sh [-n|compare|players]    -n: only say what is missing; compare, players: also what make compare-load, make long needs"
	exit 0
	;;
*)
	echo "ensure-tools: unknown argument $1; see -h" >&2
	exit 2
	;;
esac

if ! command -v go >/dev/null; then
	echo "ensure-tools: no go in PATH; install Go 1.25 or newer from https://go.dev/dl/" >&2
	exit 1
fi

# missing prints the Debian packages of what is not there, and the reasons on
# standard error.
missing() {
	echo "$tools" | while IFS='|' read -r commands packages reason; do
		[ -n "$commands" ] || continue
		found=
		for name in $commands; do
			case $name in
			# Where Debian has it; elsewhere the tests that need it are left out.
			/*) ! command -v apt-get >/dev/null || [ -e "${TOOLS_ROOT-}$name" ] || continue ;;
			*) command -v "$name" >/dev/null || continue ;;
			esac
			found=$name
			break
		done
		if [ -z "$found" ]; then
			echo "ensure-tools: no $(echo "$commands" | sed 's/ / or /g') in PATH: $reason" >&2
			echo "$packages"
		fi
	done
}

packages=$(missing | sort -u | tr '\n' ' ')
packages=${packages% }
if [ -z "$packages" ]; then
	exit 0
fi

if [ "${1-}" != -n ] && command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
	echo "ensure-tools: installing $packages"
	export DEBIAN_FRONTEND=noninteractive
	# Another apt may be at work, the one that runs when a machine starts say.
	wait_for_lock='-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3'
	# Old lists may still do, so a failed update is not the end. The update waits
	# for no lock by itself.
	tries=0
	# shellcheck disable=SC2086
	until said=$(apt-get update -qq $wait_for_lock 2>&1); do
		case $said in
		*"ould not get lock"* | *"nable to lock"*)
			tries=$((tries + 1))
			if [ "$tries" -le 60 ]; then
				[ "$tries" -gt 1 ] || echo "ensure-tools: waiting for another apt-get to end"
				sleep 5
				continue
			fi
			;;
		esac
		echo "$said" >&2
		echo "ensure-tools: apt-get update failed, going on with the lists that are here" >&2
		break
	done
	# It takes half the processor time of the whole Chromium, but older systems do not have it.
	case " $packages " in
	*" chromium-headless-shell "*)
		apt-cache show chromium-headless-shell >/dev/null 2>&1 || packages=$(echo "$packages" | sed 's/chromium-headless-shell/chromium/')
		;;
	esac
	# One word for each package and option is what is wanted.
	# shellcheck disable=SC2086
	if said=$(apt-get install -y -q --no-install-recommends $wait_for_lock $packages 2>&1); then
		packages=$(missing | sort -u | tr '\n' ' ')
		packages=${packages% }
		if [ -z "$packages" ]; then
			exit 0
		fi
	else
		# What failed stands at the end of what apt says.
		echo "$said" | tail -n 30 >&2
		echo "ensure-tools: apt-get install failed" >&2
	fi
fi

if command -v apt-get >/dev/null; then
	echo "ensure-tools: install them with: sudo apt-get install $packages" >&2
else
	echo "ensure-tools: install them (Debian calls the packages: $packages)" >&2
fi
exit 1
