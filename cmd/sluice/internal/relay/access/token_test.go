package access

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	testSecret = []byte("a secret of the tests, long enough")
	testNow    = time.Unix(1_800_000_000, 0)
)

// The value was made with:
// printf 'play\nlive/s\n1800003600' | openssl dgst -sha256 -hmac 'a secret of the tests, long enough' -binary | basenc --base64url | tr -d =
const goldenToken = "1800003600.9Top02JrZKEPFAqRUIu1U-o6n5qUhEsRFgn1OrCr7aA"

func TestTokenIsWhatOthersCanMake(t *testing.T) {
	if got := Sign(testSecret, Play, "live/s", testNow.Add(time.Hour)); got != goldenToken {
		t.Errorf("got %s, want %s", got, goldenToken)
	}
}

func TestTokenHoldsForOneActionStreamSecretAndTime(t *testing.T) {
	token := Sign(testSecret, Play, "live/s", testNow.Add(time.Hour))
	until, sum, _ := strings.Cut(token, ".")
	past := Sign(testSecret, Play, "live/s", testNow)
	for _, c := range []struct {
		name   string
		secret string
		action Action
		stream string
		token  string
		want   error
	}{
		{"right", "", Play, "live/s", token, nil},
		{"missing", "", Play, "live/s", "", ErrTokenMissing},
		{"other action", "", Publish, "live/s", token, ErrTokenWrong},
		{"other stream", "", Play, "live/s2", token, ErrTokenWrong},
		{"prefix of the stream", "", Play, "live/", token, ErrTokenWrong},
		{"other secret", "another secret of the tests", Play, "live/s", token, ErrTokenWrong},
		{"no secret", "-", Play, "live/s", token, ErrTokenWrong},
		{"this very second", "", Play, "live/s", past, ErrTokenExpired},
		{"expired and wrong", "", Play, "live/s2", past, ErrTokenWrong},
		{"later expiry, same sum", "", Play, "live/s", "1900000000." + sum, ErrTokenWrong},
		{"expiry with a zero", "", Play, "live/s", "0" + token, ErrTokenWrong},
		{"expiry with a sign", "", Play, "live/s", "+" + token, ErrTokenWrong},
		{"no sum", "", Play, "live/s", until, ErrTokenWrong},
		{"empty sum", "", Play, "live/s", until + ".", ErrTokenWrong},
		{"no expiry", "", Play, "live/s", "." + sum, ErrTokenWrong},
		{"short sum", "", Play, "live/s", token[:len(token)-4], ErrTokenWrong},
		{"long sum", "", Play, "live/s", token + "AAAA", ErrTokenWrong},
		{"padding", "", Play, "live/s", token + "=", ErrTokenWrong},
		{"line feed", "", Play, "live/s", token + "\n", ErrTokenWrong},
		{"three parts", "", Play, "live/s", token + "." + sum, ErrTokenWrong},
		{"very long", "", Play, "live/s", strings.Repeat("9", 1<<16), ErrTokenWrong},
		{"only a dot", "", Play, "live/s", ".", ErrTokenWrong},
		{"not ASCII", "", Play, "live/s", "\xff\xfe.\x00", ErrTokenWrong},
	} {
		secret := testSecret
		switch c.secret {
		case "":
		case "-":
			secret = nil
		default:
			secret = []byte(c.secret)
		}
		if got := Verify(secret, c.action, c.stream, c.token, testNow); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Every other spelling of the last character decodes to the same bytes unless
// the decoder is strict.
func TestTokenHasOneSpelling(t *testing.T) {
	token := Sign(testSecret, Publish, "live/s", testNow.Add(time.Minute))
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	right := 0
	for _, c := range alphabet {
		if Verify(testSecret, Publish, "live/s", token[:len(token)-1]+string(c), testNow) == nil {
			right++
		}
	}
	if right != 1 {
		t.Errorf("%d last characters are accepted", right)
	}
}

// No stream name can be made to sign what another expiry or action would.
func TestTokenFieldsDoNotRunIntoEachOther(t *testing.T) {
	later := Sign(testSecret, Play, "live/s\n1900000000", testNow.Add(-time.Hour))
	_, sum, _ := strings.Cut(later, ".")
	if err := Verify(testSecret, Play, "live/s", "1900000000."+sum, testNow); err != ErrTokenWrong {
		t.Errorf("got %v", err)
	}
	if err := Verify(testSecret, Play, "live/s", "1900000000\n1799996400."+sum, testNow); err == nil {
		t.Error("an expiry of two lines was accepted")
	}
}

func TestShortSecretsAreRefused(t *testing.T) {
	if _, err := New(Options{Protect: []Action{Play}, Secret: testSecret[:MinSecret-1]}); err == nil || !strings.Contains(err.Error(), "15 bytes") {
		t.Errorf("got %v", err)
	}
	if _, err := New(Options{Protect: []Action{Play}, Secret: testSecret[:MinSecret]}); err != nil {
		t.Error(err)
	}
	if _, err := New(Options{Secret: nil}); err != nil {
		t.Errorf("nothing is protected: %v", err)
	}
}

// Without a secret nothing that a peer can make is a token.
func TestNoSecretSignsNothing(t *testing.T) {
	if err := Verify(nil, Play, "live/s", Sign(nil, Play, "live/s", testNow.Add(time.Hour)), testNow); err != ErrTokenWrong {
		t.Errorf("a token of the empty secret: %v", err)
	}
	if got := mustNew(t, Options{}).Expected(Play, "live/s", "1900000000"); got != nil {
		t.Errorf("%q", got)
	}
}

// Of what peers send instead of the beginning of a token nothing is expected.
func TestExpectedOfWhatIsNoToken(t *testing.T) {
	g := mustNew(t, Options{Secret: testSecret, Accept: []byte("another secret of the tests")})
	for head, want := range map[string]int{
		"0": 2, "1900000000": 2, "cam.1900000000": 2, "": 0, "cam": 0, ".": 0, "cam.": 0, ".5": 0, "-5": 0, "cam.-5": 0, "+5": 0, "05": 0, "9223372036854775808": 0, "cam.5.": 0, "c/m.5": 0, "cam.5\nid:x": 0,
	} {
		got := g.Expected(Play, "live/s", head)
		if len(got) != want {
			t.Errorf("%q: %q", head, got)
		}
		for i, secret := range [][]byte{testSecret, []byte("another secret of the tests")}[:len(got)] {
			if err := Verify(secret, Play, "live/s", got[i], time.Unix(-1, 0)); err != nil || !strings.HasPrefix(got[i], head+".") {
				t.Errorf("%q: %q: %v", head, got[i], err)
			}
		}
	}
}

func TestRevokedTokens(t *testing.T) {
	g := mustNew(t, Options{Protect: []Action{Play}, Secret: testSecret, Revoked: []string{"cam"}, Now: func() time.Time { return testNow }})
	for id, want := range map[string]error{"cam": ErrTokenRevoked, "other": nil} {
		r := Request{Action: Play, Stream: "live/s", Token: SignID(testSecret, Play, "live/s", id, testNow.Add(time.Hour))}
		if _, err := g.Admit(t.Context(), r); !errors.Is(err, want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestIDsOfTokens(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	for c := rune(0); c < 0x180; c++ {
		if err := CheckID("a" + string(c)); (err == nil) != strings.ContainsRune(letters, c) {
			t.Errorf("%q: %v", c, err)
		}
	}
	if CheckID("") == nil || CheckID(letters[:mostID+1]) == nil || CheckID(letters[:mostID]) != nil {
		t.Error("the length of an id is not bounded by 1 and the most")
	}
}

func TestSignPanicsForWhatIsNoToken(t *testing.T) {
	for _, f := range []func(){
		func() { Sign(testSecret, "record", "live/s", testNow) },
		func() { Sign(testSecret, Play, "live/s", time.Unix(-1, 0)) },
		func() { SignID(testSecret, "record", "live/s", "cam", testNow) },
		func() { SignID(testSecret, Play, "live/s", "a.b", testNow) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("live/s", Sign(testSecret, Play, "live/s", testNow.Add(time.Hour)))
	f.Add("live/s", Sign(testSecret, Play, "live/s", testNow))
	f.Add("", "1.")
	f.Fuzz(func(t *testing.T, stream, token string) {
		err := Verify(testSecret, Play, stream, token, testNow)
		if err == nil || errors.Is(err, ErrTokenExpired) {
			if until, _, _ := strings.Cut(token, "."); token != until+"."+encoding.EncodeToString(mac(testSecret, Play, stream, until)) {
				t.Fatalf("%q is accepted for %q", token, stream)
			}
		}
	})
}

// A secret is changed while the tokens of the one before go on: they hold until that is not
// accepted any more, and new ones are of the new secret.
func TestTheSecretOfTokensIsChanged(t *testing.T) {
	before, after := []byte("the secret before this one"), []byte("the secret after that one")
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		secret, accept []byte
		old, new       error
	}{
		{before, nil, nil, ErrTokenWrong}, {before, after, nil, nil}, {after, before, nil, nil}, {after, nil, ErrTokenWrong, nil},
	} {
		g, err := New(Options{Protect: []Action{Play}, Secret: c.secret, Accept: c.accept, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		for secret, want := range map[string]error{string(before): c.old, string(after): c.new} {
			token := SignID([]byte(secret), Play, "live/s", "cam1", now.Add(time.Hour))
			release, err := g.Admit(t.Context(), Request{Action: Play, Stream: "live/s", Query: url.Values{"token": {token}}})
			if !errors.Is(err, want) {
				t.Errorf("secret %q, accepts %q, token of %q: %v", c.secret, c.accept, secret, err)
			}
			if err == nil {
				release()
			}
			if got := slices.Contains(g.Expected(Play, "live/s", token[:strings.LastIndexByte(token, '.')]), token); got != (want == nil) {
				t.Errorf("secret %q, accepts %q: the token of %q is expected: %v", c.secret, c.accept, secret, got)
			}
		}
		expired := Sign(before, Play, "live/s", now.Add(-time.Hour))
		if _, err := g.Admit(t.Context(), Request{Action: Play, Stream: "live/s", Query: url.Values{"token": {expired}}}); c.old == nil && !errors.Is(err, ErrTokenExpired) {
			t.Errorf("an expired one: %v", err)
		}
	}
	if _, err := New(Options{Secret: after, Accept: []byte("short")}); err == nil {
		t.Error("a short secret is accepted")
	}
}
