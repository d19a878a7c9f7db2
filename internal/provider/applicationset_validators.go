package provider

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// Names of Kubernetes objects (RFC 1123 subdomain) and of namespaces (RFC 1123 label).
var (
	objectName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

const (
	objectNameRule = "must be 1 to 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	namespaceRule  = "must be 1 to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
)

// durationText accepts what parseDuration does, zero only unless positive.
type durationText struct{ positive bool }

func (v durationText) Description(context.Context) string {
	if v.positive {
		return `a duration above zero such as "30s", "10m" or "1h30m"`
	}
	return `a duration such as "30s", "10m" or "1h30m", not negative`
}

func (v durationText) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v durationText) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := parseDuration(req.ConfigValue.ValueString()); err != nil || (v.positive && d == 0) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid duration",
			atPath(req.Path, fmt.Sprintf("%q is not %s.", req.ConfigValue.ValueString(), v.Description(ctx))))
	}
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is negative", s)
	}
	return d, err
}

// wholeNumber accepts whole numbers between min and max. It goes with NumberAttribute: the
// framework's Int64Attribute calls 0.5 a bug of the provider.
type wholeNumber struct{ min, max int64 }

func (v wholeNumber) Description(context.Context) string {
	if v.min == math.MinInt64 {
		return "a whole number"
	}
	return fmt.Sprintf("a whole number from %d to %d", v.min, v.max)
}

func (v wholeNumber) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v wholeNumber) ValidateNumber(ctx context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	f := req.ConfigValue.ValueBigFloat()
	if n, accuracy := f.Int64(); accuracy != big.Exact || n < v.min || n > v.max {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid number",
			atPath(req.Path, fmt.Sprintf("%s is not %s.", f.Text('g', 10), v.Description(ctx))))
	}
}

// amount is a number of Applications, or a percentage of them.
type amount struct {
	value   int
	percent bool
}

// floor is the amount of n Applications: a percentage is rounded down.
func (a amount) floor(n int) int {
	if !a.percent {
		return a.value
	}
	return n * a.value / 100
}

// of is the same, but at least 1 for a percentage above 0%.
func (a amount) of(n int) int {
	if a.percent && a.value > 0 {
		return max(a.floor(n), 1)
	}
	return a.floor(n)
}

func (a amount) String() string {
	if a.percent {
		return strconv.Itoa(a.value) + "%"
	}
	return strconv.Itoa(a.value)
}

func parseAmount(s string) (amount, error) {
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || strconv.Itoa(n) != digits || (percent && n > 100) {
		return amount{}, fmt.Errorf("%q is not %s", s, amountText{}.Description(context.Background()))
	}
	return amount{value: n, percent: percent}, nil
}

// amountText accepts what parseAmount does.
type amountText struct{}

func (amountText) Description(context.Context) string {
	return `a whole number of at least 0, or a percentage from "0%" to "100%"`
}

func (v amountText) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (amountText) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := parseAmount(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid amount", atPath(req.Path, err.Error()+"."))
	}
}
