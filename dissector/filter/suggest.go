package filter

// closest is the known name that differs least from a misspelt one, if it differs in no more than two letters.
func closest(text string) string {
	const most, longest = 2, 64
	best, name := most+1, ""
	if len(text) > longest {
		return ""
	}
	for _, f := range Fields() {
		if d := distance(text, f.Name); d < best {
			best, name = d, f.Name
		}
	}
	return name
}

// distance is how many letters have to be put in, left out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
