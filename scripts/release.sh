#!/bin/sh
# Makes a release of all modules: writes the version into the changelog and
# into what the programs require, commits, and tags vX, cmd/vX, lab/vX and vet/vX.
# Pushes nothing; the last line says how.
#
# usage: scripts/release.sh v0.2.0
set -eu
cd "$(dirname "$0")/.."

fail() {
	echo "release: $1" >&2
	exit 1
}

version=${1-}
if [ $# -ne 1 ] || ! echo "$version" | grep -qE '^v(0|1)\.[0-9]+\.[0-9]+$'; then
	echo "usage: scripts/release.sh v0.2.0" >&2
	exit 2
fi
number=${version#v}
library=github.com/sluice-go/sluice

[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed; see git status"
for tag in "$version" "cmd/$version" "lab/$version" "vet/$version"; do
	if git rev-parse -q --verify "refs/tags/$tag" >/dev/null; then
		fail "the tag $tag is there already"
	fi
done
unreleased=$(sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' CHANGELOG.md | grep -c '^- ' || :)
[ "$unreleased" -gt 0 ] || fail "CHANGELOG.md has no entry under Unreleased"

dir=$(mktemp -d)
began=$(git rev-parse HEAD)
finished=
finish() {
	rm -rf "$dir"
	if [ -z "$finished" ]; then
		# The tree was clean: there is nothing to lose but what this script wrote.
		git reset -q --hard "$began"
	fi
}
trap finish EXIT
trap 'exit 130' INT TERM

sed "s/^## \[Unreleased\].*/## [Unreleased]\n\n## [$number] - $(date -u +%Y-%m-%d)\n\nTags: \`$version\` (library), \`cmd\/$version\` (sluice), \`lab\/$version\` (lab), \`vet\/$version\` (sluicevet)./" CHANGELOG.md >"$dir/changelog"
cp "$dir/changelog" CHANGELOG.md
for module in cmd lab; do
	(cd "$module" && go mod edit -require "$library@$version")
done
sed "s|^\(replace $library\) .* =>|\1 $version =>|" go.work >"$dir/work"
cp "$dir/work" go.work
git commit -qam "release: $version"

# The sums of the library are those of its archive, in which nothing below is.
scripts/module-proxy.sh "$dir/proxy" "$version"
scripts/module-cache.sh "$dir/cache"
(
	GOPROXY="file://$dir/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
	export GOPROXY GOMODCACHE="$dir/cache" GOFLAGS="-modcacherw -trimpath" GOWORK=off GONOSUMDB="$library"
	for module in cmd lab; do
		(cd "$module" && go get "$library@$version" && go list -deps ./... >/dev/null) || exit 1
	done
) || fail "the programs cannot be built with the library as it would be published"
git commit -qa --amend --no-edit
[ -z "$(git status --porcelain)" ] || fail "the build left something in the tree"

for tag in "$version" "cmd/$version" "lab/$version" "vet/$version"; do
	git tag -a -m "$tag" "$tag"
done
finished=1
echo "release: committed and tagged; publish with: git push --atomic origin HEAD $version cmd/$version lab/$version vet/$version"
echo "release: archives, packages, checksums and bills of materials: go run ./cmd/internal/dist $version dist"
