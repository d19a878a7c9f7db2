package gitsource

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func TestKindsOfSSHKeys(t *testing.T) {
	r, _, _ := sample(t)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ecKey)
	if err != nil {
		t.Fatal(err)
	}
	ed, edText := newKey(t)
	rsaSigner, rsaText := signerOf(t, rsaKey)
	ecSigner, ecText := signerOf(t, ecKey)
	for name, c := range map[string]struct {
		key  ssh.PublicKey
		text string
	}{
		"ed25519":      {ed.PublicKey(), edText},
		"RSA":          {rsaSigner.PublicKey(), rsaText},
		"RSA PKCS#1":   {rsaSigner.PublicKey(), string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)}))},
		"ECDSA":        {ecSigner.PublicKey(), ecText},
		"PKCS#8":       {ecSigner.PublicKey(), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))},
		"no last line": {ed.PublicKey(), strings.TrimSpace(edText)},
		"CRLF":         {ed.PublicKey(), strings.ReplaceAll(edText, "\n", "\r\n")},
	} {
		server := newSSH(r, c.key)
		_, err := newTestStore(t).Fetch(t.Context(), Repository{URL: server.url(r), SSHPrivateKey: c.text, KnownHosts: server.knownAs(server.host.PublicKey())}, "main")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusalsOfSSH(t *testing.T) {
	r, _, _ := sample(t)
	signer, key := newKey(t)
	stranger, strangerKey := newKey(t)
	server := newSSH(r, signer.PublicKey())
	known := server.knownAs(server.host.PublicKey())
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(mustPrivate(t), "", []byte("passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	good := Repository{URL: server.url(r), SSHPrivateKey: key, KnownHosts: known}
	with := func(change func(*Repository)) Repository {
		changed := good
		change(&changed)
		return changed
	}
	name := hostName(server.address)
	print := ssh.FingerprintSHA256(server.host.PublicKey())
	for what, c := range map[string]struct {
		repository Repository
		kind       Kind
		said       []string
	}{
		"no key":              {with(func(r *Repository) { r.SSHPrivateKey = "" }), Authentication, []string{"wants an SSH key, and there is none"}},
		"another key":         {with(func(r *Repository) { r.SSHPrivateKey = strangerKey }), Authentication, []string{`does not accept the SSH key for the account "git"`}},
		"half a key":          {with(func(r *Repository) { r.SSHPrivateKey = key[:100] }), Authentication, []string{"cannot be read"}},
		"a passphrase":        {with(func(r *Repository) { r.SSHPrivateKey = string(pem.EncodeToMemory(locked)) }), Authentication, []string{"passphrase"}},
		"an unknown host":     {with(func(r *Repository) { r.KnownHosts = "# nothing\n\n" }), HostKey, []string{name, print, "is not known"}},
		"a host that changed": {with(func(r *Repository) { r.KnownHosts = server.knownAs(stranger.PublicKey()) }), HostKey, []string{name, print, "none of the 1 that are known"}},
		"a revoked key":       {with(func(r *Repository) { r.KnownHosts = known + "@revoked " + known }), HostKey, []string{"revoked"}},
		"damaged known hosts": {with(func(r *Repository) { r.KnownHosts = known + "host ssh-rsa AAAA\n" }), HostKey, []string{"line 2 of the known host keys"}},
		"no such repository":  {with(func(r *Repository) { r.URL += "/missing" }), Missing, []string{"no such repository", "does not appear to be a git repository"}},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := newTestStore(t).Fetch(t.Context(), c.repository, "main")
			fails(t, err, c.kind, c.said...)
		})
	}
	newTestStore(t).must(t, with(func(r *Repository) { r.KnownHosts, r.Insecure = "", true }), "main")
	// A host that is known by another kind of key as well shows the one that is known.
	newTestStore(t).must(t, with(func(r *Repository) { r.KnownHosts = known + server.knownAs(stranger.PublicKey()) }), "main")
}

func mustPrivate(t testing.TB) any {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestSSHGoesThroughASOCKSProxy(t *testing.T) {
	r, _, _ := sample(t)
	signer, key := newKey(t)
	server := newSSH(r, signer.PublicKey())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	used := make(chan struct{}, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		used <- struct{}{}
		socks(conn, server.address)
	}()
	repository := Repository{URL: "ssh://git@git.example.com" + r.dir, SSHPrivateKey: key, Insecure: true, Proxy: "socks5://" + listener.Addr().String()}
	newTestStore(t).must(t, repository, "main")
	<-used

	// As in Argo CD, a proxy for http is none for SSH.
	direct := Repository{URL: server.url(r), SSHPrivateKey: key, Insecure: true, Proxy: "http://127.0.0.1:1"}
	newTestStore(t).must(t, direct, "main")
}

// socks connects one client of SOCKS 5 with an address, whatever it asks for.
func socks(conn net.Conn, address string) {
	defer conn.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(conn, head); err != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, conn, int64(head[1])); err != nil {
		return
	}
	_, _ = conn.Write([]byte{5, 0})
	request := make([]byte, 5) // version, command, reserved, kind of address, length of the name
	if _, err := io.ReadFull(conn, request); err != nil || request[3] != 3 {
		return
	}
	if _, err := io.CopyN(io.Discard, conn, int64(request[4])+2); err != nil {
		return
	}
	_, _ = conn.Write([]byte{5, 0, 0, 1, 127, 0, 0, 1, 0, 0})
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, conn)
		_ = to.Close()
	}()
	_, _ = io.Copy(conn, to)
}

func TestKnownHostsAreReadAsOpenSSHDoes(t *testing.T) {
	signer, _ := newKey(t)
	other, _ := newKey(t)
	key, text := signer.PublicKey(), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	otherText := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(other.PublicKey())))
	for _, c := range []struct {
		lines, address string
		known          bool
	}{
		{"github.com " + text, "github.com:22", true},
		{"GitHub.com " + text, "github.COM:22", true},
		{"github.com " + text, "github.com:2222", false},
		{"[github.com]:2222 " + text, "github.com:2222", true},
		{"[github.com]:2222 " + text, "github.com:22", false},
		{"a.com,github.com,140.82.121.4 " + text, "github.com:22", true},
		{"*.github.com " + text, "ssh.github.com:22", true},
		{"*.github.com " + text, "github.com:22", false},
		{"*.com,!evil.com " + text, "evil.com:22", false},
		{"*.com,!evil.com " + text, "good.com:22", true},
		{"gith?b.com " + text, "github.com:22", true},
		{"[::1]:7999 " + text, "[::1]:7999", true},
		{"::1 " + text, "[::1]:22", true},
		{knownhosts.HashHostname("github.com") + " " + text, "github.com:22", true},
		{knownhosts.HashHostname("github.com") + " " + text, "gitlab.com:22", false},
		{knownhosts.HashHostname("[github.com]:2222") + " " + text, "github.com:2222", true},
		{"# a comment\n\n  \ngithub.com " + otherText + "\r\ngithub.com " + text + " a comment\r\n", "github.com:22", true},
		{"github.com " + otherText, "github.com:22", false},
		{"@revoked github.com " + text, "github.com:22", false},
		{"github.com " + text + "\n@revoked * " + text, "github.com:22", false},
		{"@cert-authority github.com " + text, "github.com:22", false},
	} {
		hosts, err := parseKnownHosts(c.lines)
		if err != nil {
			t.Errorf("%q: %v", c.lines, err)
			continue
		}
		if err := hosts.check(c.address, nil, key); (err == nil) != c.known {
			t.Errorf("with %q, %s is %v, want known: %v", c.lines, c.address, err, c.known)
		}
	}
}

func TestHostCertificates(t *testing.T) {
	authority, _ := newKey(t)
	host, _ := newKey(t)
	certificate := &ssh.Certificate{
		Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"github.com"}, ValidBefore: ssh.CertTimeInfinity,
	}
	if err := certificate.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	lineOf := func(marker string, key ssh.PublicKey) string {
		return fmt.Sprintf("%sgithub.com,gitlab.com %s", marker, ssh.MarshalAuthorizedKey(key))
	}
	for what, c := range map[string]struct {
		lines, address, said string
	}{
		"its authority is known":        {lineOf("@cert-authority ", authority.PublicKey()), "github.com:22", ""},
		"it is for another host":        {lineOf("@cert-authority ", authority.PublicKey()), "gitlab.com:22", "not valid"},
		"its key alone is known":        {lineOf("", host.PublicKey()), "github.com:22", ""},
		"nothing is known":              {"", "github.com:22", "is not known"},
		"its authority is revoked":      {lineOf("@cert-authority ", authority.PublicKey()) + lineOf("@revoked ", authority.PublicKey()), "github.com:22", "not valid"},
		"the authority is no authority": {lineOf("", authority.PublicKey()), "github.com:22", "none of the 1"},
	} {
		hosts, err := parseKnownHosts(c.lines)
		if err != nil {
			t.Fatal(err)
		}
		err = hosts.check(c.address, nil, certificate)
		if (err == nil) != (c.said == "") || err != nil && !strings.Contains(err.Error(), c.said) {
			t.Errorf("when %s: %v, want %q", what, err, c.said)
		}
	}
}

func FuzzKnownHosts(f *testing.F) {
	signer, _ := newKey(f)
	text := string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	for _, seed := range []string{"github.com " + text, "@revoked * " + text, "@cert-authority *.x,!y " + text, "[::1]:22 " + text, "|1|AAAA|BBBB " + text, "[ " + text, "\\ " + text, "# x\n\n"} {
		f.Add(seed, "github.com:22")
	}
	f.Fuzz(func(t *testing.T, lines, address string) {
		hosts, err := parseKnownHosts(lines)
		if err != nil {
			return
		}
		if hosts.check(address, nil, signer.PublicKey()) == nil && !strings.Contains(lines, strings.Fields(text)[1]) {
			t.Errorf("with %q, %q is known by a key that is not there", lines, address)
		}
		hosts.algorithms(address)
	})
}
