package bus

// The expected conditions of a Superset in the three states of the scenario.
var (
	running = sixConditions{
		"Available": {"True", "AllComponentsReady"}, "Progressing": {"False", "AsExpected"}, "Degraded": {"False", "AsExpected"},
		"Upgradable": {"True", "AsExpected"}, "Paused": {"False", "NotPaused"}, "Stopped": {"False", "Running"},
	}
	paused = sixConditions{
		"Available": {"True", "AllComponentsReady"}, "Progressing": {"False", "AsExpected"}, "Degraded": {"False", "AsExpected"},
		"Upgradable": {"False", "ReconciliationPaused"}, "Paused": {"True", "ReconciliationPaused"}, "Stopped": {"False", "Running"},
	}
	stopped = sixConditions{
		"Available": {"False", "Stopped"}, "Progressing": {"False", "AsExpected"}, "Degraded": {"False", "Stopped"},
		"Upgradable": {"False", "Stopped"}, "Paused": {"False", "NotPaused"}, "Stopped": {"True", "Stopped"},
	}
)
