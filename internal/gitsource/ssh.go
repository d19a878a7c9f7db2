package gitsource

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/net/proxy"
)

// sshServer is one that speaks git over SSH. Neither the user's agent nor the user's settings of SSH
// are ever used.
type sshServer struct {
	repository Repository
	place      place
	limits     limits
	// waiting is a conversation in which references were told and nothing was asked for yet.
	waiting *sshTalk
}

// sshTalk is one run of git-upload-pack.
type sshTalk struct {
	client  *ssh.Client
	session *ssh.Session
	stdin   io.WriteCloser
	stdout  io.Reader
	stderr  *tail
	// release stops watching the context that the connection was made for.
	release func() bool
}

func (s *sshServer) refs(ctx context.Context) (*packp.AdvRefs, error) {
	s.close()
	talk, adv, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	s.waiting = talk
	return adv, nil
}

func (s *sshServer) pack(ctx context.Context, request []byte) (io.ReadCloser, error) {
	talk := s.waiting
	s.waiting = nil
	if talk == nil {
		var err error
		if talk, _, err = s.begin(ctx); err != nil {
			return nil, err
		}
	}
	talk.watch(ctx)
	if _, err := talk.stdin.Write(request); err != nil {
		talk.end()
		return nil, passing(Unreachable, "the connection ended before the objects were asked for")
	}
	return talk, nil
}

func (s *sshServer) close() {
	if s.waiting == nil {
		return
	}
	// A flush says that nothing is wanted; whether it arrives makes no difference.
	_, _ = s.waiting.stdin.Write(pktline.FlushPkt)
	s.waiting.end()
	s.waiting = nil
}

// watch lets the connection end with ctx.
func (t *sshTalk) watch(ctx context.Context) {
	t.release = context.AfterFunc(ctx, func() { _ = t.client.Close() })
}

func (t *sshTalk) Read(b []byte) (int, error) { return t.stdout.Read(b) }

// Close ends the conversation.
func (t *sshTalk) Close() error {
	t.end()
	return nil
}

func (t *sshTalk) end() {
	t.release()
	_ = t.session.Close()
	_ = t.client.Close()
}

// begin connects and reads the references.
func (s *sshServer) begin(ctx context.Context) (*sshTalk, *packp.AdvRefs, error) {
	client, err := s.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	talk := &sshTalk{client: client, stderr: &tail{}}
	talk.watch(ctx)
	adv, err := s.start(talk)
	// What comes next may have another context.
	talk.release()
	if err == nil {
		return talk, adv, nil
	}
	_ = client.Close()
	var f *failure
	if said := talk.stderr.String(); said != "" && ctx.Err() == nil && errors.As(err, &f) && f.kind == Unreachable {
		err = fail(Missing, "there is no such repository, or the key may not read it; the server says: %s", OneLine(said, 300))
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, nil, err
}

func (s *sshServer) start(t *sshTalk) (*packp.AdvRefs, error) {
	lost := func(err error) error {
		return passing(Unreachable, "the SSH server gave no session: %s", OneLine(err.Error(), 300))
	}
	var err error
	if t.session, err = t.client.NewSession(); err != nil {
		return nil, lost(err)
	}
	t.session.Stderr = t.stderr
	if t.stdin, err = t.session.StdinPipe(); err != nil {
		return nil, lost(err)
	}
	if t.stdout, err = t.session.StdoutPipe(); err != nil {
		return nil, lost(err)
	}
	if err := t.session.Start("git-upload-pack " + quote(s.place.path)); err != nil {
		return nil, lost(err)
	}
	adv, err := decodeRefs(t.stdout, s.limits.advertisement)
	if err != nil {
		// What the server says of it comes at the end.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = t.session.Wait()
		}()
		select {
		case <-ended:
		case <-time.After(time.Second):
		}
		return nil, err
	}
	return adv, nil
}

// quote makes a text one word of a shell's command.
func quote(path string) string {
	return "'" + strings.NewReplacer(`'`, `'\''`, `!`, `'\!'`).Replace(path) + "'"
}

// connect makes an SSH connection that ends with ctx as long as it is being made.
func (s *sshServer) connect(ctx context.Context) (*ssh.Client, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	conn, err := s.dial(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, unreached(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	c, channels, requests, err := ssh.NewClientConn(conn, s.place.address, config)
	if err != nil {
		_ = conn.Close()
		return nil, s.handshake(ctx, err)
	}
	return ssh.NewClient(c, channels, requests), nil
}

// dial goes through a proxy only if it is one for SOCKS, as in Argo CD (NewSSHCreds, util/git/creds.go, 3.6.1).
func (s *sshServer) dial(ctx context.Context) (net.Conn, error) {
	direct := &net.Dialer{Timeout: 15 * time.Second}
	u, err := url.Parse(s.repository.Proxy)
	if err != nil || u.Scheme != "socks5" && u.Scheme != "socks5h" {
		return direct.DialContext(ctx, "tcp", s.place.address)
	}
	through, err := proxy.FromURL(u, direct)
	if err != nil {
		return nil, err
	}
	dialer, ok := through.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("the proxy cannot be used")
	}
	return dialer.DialContext(ctx, "tcp", s.place.address)
}

// config is what the server is told, and how it is recognised.
func (s *sshServer) config() (*ssh.ClientConfig, error) {
	r := s.repository
	config := &ssh.ClientConfig{User: s.place.user}
	if r.SSHPrivateKey != "" {
		signer, err := ssh.ParsePrivateKey([]byte(r.SSHPrivateKey))
		var locked *ssh.PassphraseMissingError
		switch {
		case errors.As(err, &locked):
			return nil, fail(Authentication, "its SSH private key has a passphrase: store it without one (ssh-keygen -p -N '')")
		case err != nil:
			return nil, fail(Authentication, "its SSH private key cannot be read: it must be a whole private key in PEM or OpenSSH's format, with its first and last line")
		}
		config.Auth = append(config.Auth, ssh.PublicKeys(signer))
	}
	if r.Insecure {
		config.HostKeyCallback = ssh.InsecureIgnoreHostKey() // what its owner has asked for
		return config, nil
	}
	hosts, err := parseKnownHosts(r.KnownHosts)
	if err != nil {
		return nil, err
	}
	config.HostKeyCallback = hosts.check
	config.HostKeyAlgorithms = hosts.algorithms(s.place.address)
	return config, nil
}

// handshake is why an SSH connection was not made.
func (s *sshServer) handshake(ctx context.Context, err error) error {
	var f *failure
	text := OneLine(err.Error(), 300)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &f):
		return f
	case strings.Contains(text, "unable to authenticate") && s.repository.SSHPrivateKey == "":
		return fail(Authentication, "the server wants an SSH key, and there is none for it")
	case strings.Contains(text, "unable to authenticate"):
		return fail(Authentication, "the server does not accept the SSH key for the account %q", s.place.user)
	}
	return passing(Unreachable, "no SSH connection: %s", text)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	const most = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - most; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
