package inputs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

const (
	// pluginTimeout is that of one call, as in Argo CD (applicationset/services/internal/http/client.go, 3.6.1).
	pluginTimeout = 30 * time.Second
	// pluginAttempts is how often a call is tried that failed for a reason that may pass.
	pluginAttempts = 3
	pluginDelay    = time.Second
	// pluginAnswerLimit is how many bytes an answer may have.
	pluginAnswerLimit = 10 << 20
	pluginPath        = "api/v1/getparams.execute"
	// argoSecret is where a token is that names no Secret.
	argoSecret = "argocd-secret"
)

// pluginClient follows no redirects: a token must not go anywhere else.
func pluginClient() *http.Client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// pluginRequest is what a plugin is sent (applicationset/services/plugin/plugin_service.go, Argo CD 3.6.1).
type pluginRequest struct {
	ApplicationSetName string      `json:"applicationSetName"`
	Input              pluginInput `json:"input"`
}

type pluginInput struct {
	Parameters map[string]any `json:"parameters,omitempty"`
}

// plugin is what a ConfigMap tells of a plugin.
type plugin struct {
	// name is that of the ConfigMap.
	name    string
	address *url.URL
	timeout time.Duration
	token   string
}

// Plugin calls a plugin as the ApplicationSet controller does. Where that takes an answer without
// parameters for no parameters, this is an error: only an empty list is one.
func (in *Inputs) Plugin(ctx context.Context, call appset.PluginCall) ([]map[string]any, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(pluginRequest{call.Set, pluginInput{call.Parameters}}); err != nil {
		return nil, fmt.Errorf("the parameters of the plugin cannot be sent: %w", err)
	}
	found, err := in.answers.get(ctx, call.ConfigMap+"\n"+body.String(), func() ([]map[string]any, error) {
		p, err := in.plugin(ctx, call.ConfigMap)
		if err != nil {
			return nil, err
		}
		return in.call(ctx, p, body.Bytes())
	})
	return slices.Clone(found), err
}

// plugin reads the description of a plugin, and its token.
func (in *Inputs) plugin(ctx context.Context, name string) (plugin, error) {
	data, err := in.description(ctx, "plugin", name)
	if err != nil {
		return plugin{}, err
	}
	p := plugin{name: name, timeout: pluginTimeout}
	wrong := func(format string, args ...any) (plugin, error) {
		return plugin{}, fmt.Errorf("ConfigMap %s/%s, which describes the plugin: %s", in.namespace, name, fmt.Sprintf(format, args...))
	}
	p.address, err = url.Parse(strings.TrimSpace(data["baseUrl"]))
	switch {
	case data["baseUrl"] == "":
		return wrong("baseUrl is missing")
	case err != nil || p.address.Hostname() == "" || p.address.Scheme != "http" && p.address.Scheme != "https":
		return wrong("baseUrl must be an http:// or https:// URL")
	}
	if text, ok := data["requestTimeout"]; ok {
		seconds, err := strconv.Atoi(text)
		const most = 3600
		if err != nil || seconds < 0 || seconds > most {
			return wrong("requestTimeout must be a number of seconds, at most %d", most)
		}
		if seconds > 0 {
			p.timeout = time.Duration(seconds) * time.Second
		}
	}
	if p.token, err = in.token(ctx, name, data["token"]); err != nil {
		return plugin{}, err
	}
	return p, nil
}

// token follows getToken (applicationset/generators/plugin.go, Argo CD 3.6.1): "$secret:key", or "$key" of
// Argo CD's own Secret. A key that does not exist is an error; Argo CD would send its name.
func (in *Inputs) token(ctx context.Context, configMap, reference string) (string, error) {
	doing := fmt.Sprintf("the token of the plugin that ConfigMap %s/%s describes", in.namespace, configMap)
	name, key := argoSecret, strings.TrimPrefix(reference, "$")
	if before, after, ok := strings.Cut(key, ":"); ok {
		name, key = before, after
	}
	if !strings.HasPrefix(reference, "$") || name == "" || key == "" {
		return "", fmt.Errorf("%s must be written as $key (of Secret %s) or $secret:key", doing, argoSecret)
	}
	return in.tokens.get(ctx, name+":"+key, func() (string, error) {
		object, err := in.get(ctx, secrets, name)
		if apierrors.IsNotFound(err) {
			return "", fmt.Errorf("%s: there is no Secret %s/%s: %w", doing, in.namespace, name, err)
		}
		if err != nil {
			return "", refusal(doing, err)
		}
		data, err := secretData(*object)
		if err != nil {
			return "", err
		}
		value, ok := data[key]
		if value = strings.TrimSpace(value); !ok || value == "" {
			return "", fmt.Errorf("%s: Secret %s/%s has no key %q, or an empty one", doing, in.namespace, name, key)
		}
		if strings.ContainsFunc(value, unicode.IsControl) {
			return "", fmt.Errorf("%s: the value of the key %q of Secret %s/%s has more than one line", doing, key, in.namespace, name)
		}
		in.hidden.add(value)
		return value, nil
	})
}

// call repeats what may pass.
func (in *Inputs) call(ctx context.Context, p plugin, body []byte) ([]map[string]any, error) {
	for attempt, delay := 1, pluginDelay; ; attempt, delay = attempt+1, 2*delay {
		found, again, err := in.post(ctx, p, body)
		if err == nil {
			return found, nil
		}
		if !again || attempt == pluginAttempts || in.sleep(ctx, delay) != nil {
			text := strings.ReplaceAll(err.Error(), p.token, "(hidden)")
			wrapped := fmt.Errorf("calling the plugin that ConfigMap %s/%s describes, %s: %s", in.namespace, p.name, p.address.Scheme+"://"+p.address.Host, text)
			if ctx.Err() != nil {
				return nil, fmt.Errorf("%w (%w)", wrapped, ctx.Err())
			}
			return nil, wrapped
		}
	}
}

// post makes one call. again tells that the same may succeed a little later.
func (in *Inputs) post(parent context.Context, p plugin, body []byte) (found []map[string]any, again bool, err error) {
	ctx, cancel := context.WithTimeout(parent, p.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(p.address.String(), "/")+"/"+pluginPath, bytes.NewReader(body))
	if err != nil {
		return nil, false, errors.New("baseUrl cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("User-Agent", "argocd-applicationset")
	answer, err := in.plugins.Do(request)
	if err != nil {
		return nil, true, p.unanswered(ctx, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, pluginAnswerLimit+1))
	switch {
	case err != nil:
		return nil, true, p.unanswered(ctx, err)
	case len(text) > pluginAnswerLimit:
		return nil, false, fmt.Errorf("its answer has more than %d MiB", pluginAnswerLimit>>20)
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return nil, false, fmt.Errorf("it redirects (%d), which is not followed, since the token would go along: set baseUrl to where the plugin is", answer.StatusCode)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		passes := answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 502 && answer.StatusCode <= 504
		return nil, passes, fmt.Errorf("it answered with status code %d%s", answer.StatusCode, saidOf(text))
	}
	if found, err = decodePlugin(text); err == nil && len(p.token) >= shortestToken && holds(found, p.token) {
		return nil, false, errors.New("its answer has the token in it that it was called with: what a plugin gives stands in Applications, and in Terraform's state. Let it leave the token out")
	}
	return found, false, err
}

// unanswered is why there is no whole answer.
func (p plugin) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return errors.New("it was given up, because everything was cancelled")
		}
		return fmt.Errorf("it did not answer within %s (requestTimeout)", p.timeout)
	}
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err // it begins with the whole URL
	}
	if insideCluster(p.address.Hostname()) {
		return fmt.Errorf("%w. %s", err, fromInside(p.address.Hostname()))
	}
	return err
}

// holds tells whether a text is anywhere in what a plugin has answered.
func holds(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holds(e, text) })
	case []map[string]any:
		return slices.ContainsFunc(v, func(e map[string]any) bool { return holds(e, text) })
	case map[string]any:
		for key, e := range v {
			if strings.Contains(key, text) || holds(e, text) {
				return true
			}
		}
	}
	return false
}

// saidOf is the message of an error, as in CheckResponse (applicationset/services/internal/http/client.go,
// Argo CD 3.6.1).
func saidOf(text []byte) string {
	var said map[string]any
	if json.Unmarshal(text, &said) == nil {
		for _, key := range []string{"message", "error"} {
			if message, ok := said[key].(string); ok {
				text = []byte(message)
				break
			}
		}
	}
	if message := short(string(text)); message != "" {
		return ": " + message
	}
	return ""
}

// short is one line of what others have said.
func short(text string) string { return gitsource.OneLine(text, 300) }

// decodePlugin reads an answer: {"output": {"parameters": [{...}]}}.
func decodePlugin(text []byte) ([]map[string]any, error) {
	var answer struct {
		Output *struct {
			Parameters *[]map[string]any `json:"parameters"`
		} `json:"output"`
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("its answer is empty")
	}
	err := json.Unmarshal(text, &answer)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return nil, fmt.Errorf("its answer is not JSON of the form {\"output\": {\"parameters\": [{...}]}}: %s is of type %s",
			cmp.Or(wrong.Field, "all of it"), wrong.Value)
	}
	if err != nil {
		return nil, fmt.Errorf("its answer is not JSON of the form {\"output\": {\"parameters\": [{...}]}}: %s", short(err.Error()))
	}
	if answer.Output == nil || answer.Output.Parameters == nil {
		return nil, errors.New("its answer has no output.parameters; an empty list would mean none")
	}
	for i, set := range *answer.Output.Parameters {
		if set == nil {
			return nil, fmt.Errorf("output.parameters[%d] of its answer is null", i)
		}
	}
	return *answer.Output.Parameters, nil
}
