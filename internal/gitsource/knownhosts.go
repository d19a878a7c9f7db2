package gitsource

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" // the format of known_hosts
	"encoding/base64"
	"errors"
	"io"
	"net"
	"path"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// knownHosts are the host keys of SSH servers, as in OpenSSH's file known_hosts.
type knownHosts struct{ lines []knownHost }

type knownHost struct {
	// marker is "cert-authority", "revoked", or empty.
	marker   string
	patterns []string
	key      ssh.PublicKey
}

// parseKnownHosts reads the text of a known_hosts file.
func parseKnownHosts(text string) (knownHosts, error) {
	var found knownHosts
	for number, line := range strings.Split(text, "\n") {
		marker, hosts, key, _, _, err := ssh.ParseKnownHosts([]byte(line))
		if errors.Is(err, io.EOF) {
			continue // empty, or a comment
		}
		if err != nil {
			return knownHosts{}, fail(HostKey, "line %d of the known host keys cannot be read: %s", number+1, OneLine(err.Error(), 100))
		}
		found.lines = append(found.lines, knownHost{marker, hosts, key})
	}
	return found, nil
}

// check is an ssh.HostKeyCallback.
func (k knownHosts) check(address string, remote net.Addr, key ssh.PublicKey) error {
	checker := ssh.CertChecker{
		IsHostAuthority: func(authority ssh.PublicKey, address string) bool {
			return k.has("cert-authority", address, authority)
		},
		IsRevoked: func(c *ssh.Certificate) bool {
			return k.has("revoked", address, c.Key) || k.has("revoked", address, c.SignatureKey)
		},
		HostKeyFallback: func(address string, _ net.Addr, key ssh.PublicKey) error { return k.plain(address, key) },
	}
	if certificate, ok := key.(*ssh.Certificate); ok && !k.has("cert-authority", address, certificate.SignatureKey) {
		// Without the authority, a certificate is worth what its key is.
		return k.plain(address, certificate.Key)
	}
	var f *failure
	err := checker.CheckHostKey(address, remote, key)
	if err != nil && !errors.As(err, &f) {
		return fail(HostKey, "the host certificate of %s is not valid: %s", hostName(address), OneLine(err.Error(), 200))
	}
	return err
}

// plain checks a key that is no certificate.
func (k knownHosts) plain(address string, key ssh.PublicKey) error {
	name, print := hostName(address), key.Type()+" "+ssh.FingerprintSHA256(key)
	if k.has("revoked", address, key) {
		return fail(HostKey, "the host key of %s (%s) is marked as revoked", name, print)
	}
	known := 0
	for _, line := range k.lines {
		if line.marker != "" || !line.matches(address) {
			continue
		}
		if same(line.key, key) {
			return nil
		}
		known++
	}
	if known == 0 {
		return fail(HostKey, "the host key of %s (%s) is not known", name, print)
	}
	return fail(HostKey, "the host key of %s (%s) is none of the %d that are known of it: it was changed, or something else answers in its place", name, print, known)
}

func (k knownHosts) has(marker, address string, key ssh.PublicKey) bool {
	return slices.ContainsFunc(k.lines, func(line knownHost) bool {
		return line.marker == marker && same(line.key, key) && line.matches(address)
	})
}

func same(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

// algorithms are the kinds of host key to ask a server for: those that are known of it first, or it
// may show one that is not.
func (k knownHosts) algorithms(address string) []string {
	var wanted []string
	for _, line := range k.lines {
		if line.marker == "revoked" || !line.matches(address) {
			continue
		}
		kinds := []string{line.key.Type()}
		if line.key.Type() == ssh.KeyAlgoRSA {
			kinds = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		if line.marker == "cert-authority" {
			// The authority's own kind says nothing of the kind of what it has signed.
			kinds = []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
				ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01}
		}
		wanted = append(wanted, kinds...)
	}
	var all []string
	for _, kind := range append(wanted, ssh.SupportedAlgorithms().HostKeys...) {
		if !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	return all
}

// hostName is how known_hosts names an address: the port is there only if it is not the usual one.
func hostName(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if port == sshPort {
		return host
	}
	return "[" + host + "]:" + port
}

// matches tells that a line is about a server.
func (h knownHost) matches(address string) bool {
	name := strings.ToLower(hostName(address))
	matched := false
	for _, pattern := range h.patterns {
		pattern, not := strings.CutPrefix(pattern, "!")
		if !matchHost(pattern, name) {
			continue
		}
		if not {
			return false
		}
		matched = true
	}
	return matched
}

func matchHost(pattern, name string) bool {
	if hash, ok := strings.CutPrefix(pattern, "|1|"); ok {
		salt, sum, _ := strings.Cut(hash, "|")
		key, err := base64.StdEncoding.DecodeString(salt)
		want, err2 := base64.StdEncoding.DecodeString(sum)
		if err != nil || err2 != nil {
			return false
		}
		mac := hmac.New(sha1.New, key)
		mac.Write([]byte(name))
		return hmac.Equal(mac.Sum(nil), want)
	}
	pattern = strings.ToLower(pattern)
	if pattern == name {
		return true
	}
	// Brackets are those of [host]:port; only * and ? are special.
	escaped := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(pattern)
	ok, err := path.Match(escaped, name)
	return err == nil && ok
}
