package appset

import "strings"

// didYouMean returns ` Did you mean "X"?` with the nearest of the candidates,
// or nothing when none is near.
func didYouMean(got string, candidates []string) string {
	if best := nearest(got, candidates); best != "" {
		return ` Did you mean "` + best + `"?`
	}
	return ""
}

func nearest(got string, candidates []string) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	best, bestDistance := "", 1+max(2, len(got)/3)
	for _, c := range candidates {
		if d := editDistance(plain(got), plain(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance counts inserted, deleted and replaced bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
