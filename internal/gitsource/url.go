package gitsource

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// place is a parsed URL.
type place struct {
	// scheme is "http", "https", "ssh" or "file".
	scheme string
	// url is that of http and https, without userinfo.
	url *url.URL
	// user and password are those in the URL.
	user, password string
	// address is host:port, for ssh.
	address string
	// path is that of ssh and file.
	path string
}

var (
	schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	// scpPattern is user@host:path; a drive letter is no host.
	scpPattern = regexp.MustCompile(`^(?:([^@/\\\s]+)@)?(\[[^\]\s]+\]|[^:@/\\\s]{2,}):([^:].*)$`)
)

const sshPort = "22"

// parse reads a repository's URL.
func parse(raw string) (place, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return place{}, fail(Invalid, "the URL is empty")
	}
	if strings.ContainsAny(raw, "\n\r\t\x00") {
		return place{}, fail(Invalid, "the URL contains control characters")
	}
	if !schemePattern.MatchString(raw) {
		if m := scpPattern.FindStringSubmatch(raw); m != nil {
			user, password, _ := strings.Cut(m[1], ":")
			return sshPlace(user, password, net.JoinHostPort(strings.Trim(m[2], "[]"), sshPort), m[3])
		}
		return place{}, fail(Invalid, "this is no URL: write https://, ssh:// or file:// before it; Argo CD would look for the path in the container of its repo server")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return place{}, fail(Invalid, "the URL cannot be read: escape special characters in it, like %%20 for a blank")
	}
	p := place{scheme: strings.ToLower(u.Scheme), path: u.Path}
	if u.User != nil {
		p.user = u.User.Username()
		p.password, _ = u.User.Password()
	}
	if p.scheme != "file" && u.Hostname() == "" {
		return place{}, fail(Invalid, "the URL has no host")
	}
	switch p.scheme {
	case "http", "https":
		if u.RawQuery != "" || u.Fragment != "" {
			return place{}, fail(Invalid, "the URL of a repository has no query and no fragment")
		}
		clean := *u
		clean.User, clean.Scheme = nil, p.scheme
		clean.Path, clean.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
		p.url = &clean
		return p, nil
	case "ssh":
		port := u.Port()
		if port == "" {
			port = sshPort
		}
		path := u.Path
		if strings.HasPrefix(path, "/~") {
			path = path[1:]
		}
		return sshPlace(p.user, p.password, net.JoinHostPort(u.Hostname(), port), path)
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return place{}, fail(Invalid, "a file URL has three slashes: file:///path")
		}
		return p, nil
	}
	return place{}, fail(Invalid, "the scheme %s:// is not supported: use https://, http://, ssh:// or file://", OneLine(u.Scheme, 20))
}

func sshPlace(user, password, address, path string) (place, error) {
	if path == "" || path == "/" {
		return place{}, fail(Invalid, "the URL has no path")
	}
	if user == "" {
		user = "git"
	}
	return place{scheme: "ssh", user: user, password: password, address: address, path: path}, nil
}

// userinfo is what stands before the @ of the host, also in a URL that cannot be parsed.
func userinfo(raw string) string {
	rest := raw
	if i := strings.Index(raw, "://"); i >= 0 {
		rest = raw[i+3:]
		if u, err := url.Parse(raw); err == nil {
			if u.User == nil {
				return ""
			}
			// As it is written, not as it would be written.
			authority, _, _ := strings.Cut(rest, "/")
			if at := strings.LastIndexByte(authority, '@'); at >= 0 {
				return authority[:at]
			}
		}
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return ""
	}
	return rest[:at]
}

// sshLike tells that the name before the @ is that of an account, which is no secret.
func sshLike(raw string) bool {
	return strings.HasPrefix(strings.ToLower(raw), "ssh://") || !strings.Contains(raw, "://")
}

// SafeURL is a repository's URL as it may be printed: without the credentials that it may hold, also those
// that somebody has put behind a question mark, where no repository has any.
func SafeURL(raw string) string {
	raw = strings.TrimSpace(raw)
	info := userinfo(raw)
	if info != "" {
		name, _, secret := strings.Cut(info, ":")
		switch {
		case sshLike(raw) && !secret:
		case sshLike(raw):
			raw = strings.Replace(raw, info+"@", name+"@", 1)
		default:
			raw = strings.Replace(raw, info+"@", "", 1)
		}
	}
	if !sshLike(raw) {
		if i := strings.IndexAny(raw, "?#"); i >= 0 && i < len(raw)-1 {
			raw = raw[:i+1] + "(hidden)"
		}
	}
	return OneLine(raw, 300)
}

// hostOf is the host of a URL, with its port if it has one.
func hostOf(raw string) string {
	if rest, isArtifact := strings.CutPrefix(raw, "oci://"); isArtifact {
		host, _, _ := strings.Cut(rest, "/")
		return host[strings.LastIndexByte(host, '@')+1:]
	}
	p, err := parse(raw)
	switch {
	case err != nil:
		return ""
	case p.url != nil:
		return p.url.Host
	}
	return strings.TrimSuffix(p.address, ":"+sshPort)
}
