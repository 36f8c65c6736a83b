"""Statistics on plain arrays and counts: intervals, paired tests, the bootstrap, clusters, multiplicity.

Nothing here knows of samples or models. Rates are in [0, 1]; an undefined number is nan, never 0.
"""

from eyetest.stats.bootstrap import bootstrap_counts, percentile, pigeonhole_counts, posterior_cells
from eyetest.stats.chance import RandomBaseline, random_baseline
from eyetest.stats.clusters import cluster_se, effective_groups, group_sums, groups
from eyetest.stats.factors import (
    Factors,
    crossed,
    design_effect,
    effective_size,
    factor_interval,
    factor_se,
    factor_wilson,
)
from eyetest.stats.gap import (
    GapRate,
    Ratios,
    gap_rate,
    gap_rate_bootstrap,
    gap_rate_ci,
    gap_rate_factor_ci,
    gap_rate_posterior,
    ratio_of_totals,
    sur_ner,
)
from eyetest.stats.intervals import (
    WITHHELD,
    Interval,
    clopper_pearson,
    normal_quantile,
    smallest_detectable_proportion,
    t_quantile,
    t_tail,
    wilson,
)
from eyetest.stats.multiplicity import benjamini_hochberg, holm, holm_tested
from eyetest.stats.paired import (
    Cells,
    items_needed,
    mcnemar_exact,
    newcombe,
    overlap_cells,
    paired_cells,
    resolution_ratio,
    smallest_detectable_difference,
)

__all__ = [
    "WITHHELD",
    "Cells",
    "Factors",
    "GapRate",
    "Interval",
    "RandomBaseline",
    "Ratios",
    "benjamini_hochberg",
    "bootstrap_counts",
    "clopper_pearson",
    "cluster_se",
    "crossed",
    "design_effect",
    "effective_groups",
    "effective_size",
    "factor_interval",
    "factor_se",
    "factor_wilson",
    "gap_rate",
    "gap_rate_bootstrap",
    "gap_rate_ci",
    "gap_rate_factor_ci",
    "gap_rate_posterior",
    "group_sums",
    "groups",
    "holm",
    "holm_tested",
    "items_needed",
    "mcnemar_exact",
    "newcombe",
    "normal_quantile",
    "overlap_cells",
    "paired_cells",
    "percentile",
    "pigeonhole_counts",
    "posterior_cells",
    "random_baseline",
    "ratio_of_totals",
    "resolution_ratio",
    "smallest_detectable_difference",
    "smallest_detectable_proportion",
    "sur_ner",
    "t_quantile",
    "t_tail",
    "wilson",
]
