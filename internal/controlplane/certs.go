package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// credentials are what the API server and its clients need to trust each other. Everything is
// made anew for each cluster and dies with it.
type credentials struct {
	caPEM      []byte
	adminToken string

	caFile, certFile, keyFile, serviceAccountKeyFile, tokenFile string
}

// newCredentials writes the files of a new cluster to dir.
func newCredentials(dir string) (credentials, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return credentials{}, err
	}
	c := credentials{
		caFile:                filepath.Join(dir, "ca.crt"),
		certFile:              filepath.Join(dir, "apiserver.crt"),
		keyFile:               filepath.Join(dir, "apiserver.key"),
		serviceAccountKeyFile: filepath.Join(dir, "service-account.key"),
		tokenFile:             filepath.Join(dir, "tokens.csv"),
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return credentials{}, err
	}
	c.adminToken = hex.EncodeToString(token)
	ca, caKey, err := newCA()
	if err != nil {
		return credentials{}, fmt.Errorf("making a certificate authority: %w", err)
	}
	cert, key, err := newServingCert(ca, caKey)
	if err != nil {
		return credentials{}, fmt.Errorf("making the API server's certificate: %w", err)
	}
	serviceAccountKey, err := newKeyPEM()
	if err != nil {
		return credentials{}, fmt.Errorf("making the service account key: %w", err)
	}
	c.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})
	for path, content := range map[string][]byte{
		c.caFile:                c.caPEM,
		c.certFile:              cert,
		c.keyFile:               key,
		c.serviceAccountKeyFile: serviceAccountKey,
		c.tokenFile:             []byte(c.adminToken + ",admin,admin,system:masters\n"),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return credentials{}, err
		}
	}
	return c, nil
}

func newCA() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "controlplane"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	ca, err := x509.ParseCertificate(der)
	return ca, key, err
}

func newServingCert(ca *x509.Certificate, caKey *ecdsa.PrivateKey) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:    ca.NotBefore,
		NotAfter:     ca.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &private.PublicKey, caKey)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyPEM(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, err
}

func newKeyPEM() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return keyPEM(key)
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
