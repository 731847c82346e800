package reports

import "fmt"

// repeated says for each scenario that ran several times how long the failovers of all its
// runs took. The quantiles follow the same rule as those of one run.
func repeated(runs []*Report) (all []string) {
	type key struct{ scenario, subject, world string }
	of := map[key][]*Report{}
	var order []key
	for _, r := range runs {
		k := key{r.Scenario, r.Subject, r.World}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], r)
	}
	for _, k := range order {
		if len(of[k]) < 2 {
			continue
		}
		var total, excess []float64
		for _, r := range of[k] {
			for i := range r.Failovers {
				total, excess = append(total, r.Failovers[i].TotalMS), append(excess, r.Failovers[i].ExcessMS)
			}
		}
		text := fmt.Sprintf("%s, %s: %s, %s", k.scenario, k.subject, plural(len(of[k]), "run"), plural(len(total), "failover"))
		if len(total) > 0 {
			text += fmt.Sprintf(". They took %s; the excess was %s", quantilesOfMS(total).Short(), quantilesOfMS(excess).Short())
		}
		all = append(all, text+".")
	}
	return all
}
