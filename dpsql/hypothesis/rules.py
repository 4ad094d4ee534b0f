"""By which rules a table is modelled and its numbers shown: what a ledger's answers depend on. Public.

A model is a function of what was released, and of these rules. A ledger keeps those that it was begun with (its plan
names their version), so that a session of a later dpsql answers what one of an earlier dpsql would have answered, and
two processes on one ledger never disagree about a model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType


@dataclass(frozen=True)
class ModelRules:
    """The defaults are the newest. ``lone_columns``: whether a table of one finite column is measured before its first
    answer.

    Of a tensor: ``trace`` is the number of rows that all its cells together never go below, each its share: a cell that
    was lost for good could not come back when other measurements need it; 0 for none. ``close`` has the numbers of
    columns whose interactions are fitted in a round at the end, in this order. Rounds end when no step on a pair moves
    a cell by more than ``moved`` of its sd, after at most ``rounds``; ``accelerated``: whether those that go the same
    way are made at once. Where ``close`` says 1, single columns are fitted again and again until none is off by more
    than ``settled`` of its sd, at most ``rakes`` times. ``coarsely``: whether pairs are fitted from coarse
    parts to fine, light cells of them follow chance once, and bars know what noise hides of them.

    Of what is shown: ``cut_above``: whether counts of a table's rows are shown as no more than these;
    ``cut_counts``: whether a count that is shown as it was released is shown as 0 where noise
    took it below; ``signed``: whether sums are so, too, where conditions leave values of one sign. ``fine``:
    whether sums of models and spare releases are told in parts of a range, ``fine_rounds``: and those that hard rounds
    weigh; ``as_counted``: as many rows of them as were counted, by whatever that is not the model's number.
    ``independent``: whether the error of a calibrated average takes its sum and its count as independent. ``at_once``:
    whether the certified bound of a measured number holds for all planned questions at once, as that of a tested one
    does, or for this number alone. ``all_groups``: and for all groups of each question.

    Of local models: ``floor``: a step never takes a part of a pair below this fraction of what it was. ``held``: cells
    of clean pairs are at most so many sds of noise from what was measured. ``halfway``: whether clean pairs are the
    mean of a shrunken fit and the possible counts that are nearest to the measurement. ``sweeps``: how often all pairs
    are fitted at most; they are done when none is off by more than ``settled`` of its sd.
    ``parts_first``: whether a column's parts are made possible counts before the cells in them are, so that the noise
    of empty cells stays where it is; long ranges of whole numbers are then also measured in parts. ``classes``: whether
    a condition that ties columns together (OR, NOT, CASE) is answered from the classes of values that it tells apart,
    as a conjunction is. ``residuals``: whether spare releases measure only what estimates of columns and pairs leave
    open of a question; ``sparing``: whether the last of them are for questions that a model answers ever worse;
    ``paced``: whether a question is paid as several of them where fewer questions than planned have needed one;
    ``variances``: whether what is released says how far models are off where their bars say so much.
    ``hidden_kinds``: whether pairs of columns that wait for a question begin where all of them together put each, and
    the shares of those to come fall slowly where many questions are planned. ``pairs_together``: whether all that wait
    are measured once a part of the columns was touched. ``copulas``: whether pairs of columns in
    order that rise or fall together begin at a copula that does, too, ``beside_null`` also the rows that have both
    values of columns that are often NULL.

    ``halved``: whether the release of a planned question measures only what the number of rows leaves open of it, which
    is half of what a row can change. ``fractions``: both also for rows that count other than 0 or 1, as in sums.
    ``families``: whether queries of one release that rows count in more than once are measured family by family.
    ``families_alike``: whether each family is worth the same, an average as much as all cells of the median beside it,
    and a count of all values is a family beside these cells; and sums of values that weigh rows are one number each.
    ``about_middle``: whether sums of averages are measured beside the counts of their rows, about the middle of values.
    ``lone_sums``: whether a sum of values has the bar of its distances from 0, which is no whole number of ranges.

    ``rounds_beside``: whether the cells of a GROUP BY that a hard round measures are weighed with what the model said,
    and get all of the round's precision; ``rounds_weighed``: within how many sds of it any other number is; 0: none.
    ``tested_together``: whether the groups of a statement are tested as one: that which is furthest from its estimate.
    ``mixed``: whether many cells that are weighed with a model, these or those of a spare release, are weighed by how
    many of them are how far off; ``in_common``: whether the cells of a release that no model is beside are moved to
    what they have in common.

    ``distances``: whether an average is asked for as a distance from the end of its values that is nearest to 0.

    Of strings: ``weighed``: whether counts of a string by a column's values are those of all its measurements, each
    weighed by its noise, and strings that somebody listed are drawn to what is known of those that were not shown.
    ``every_string``: whether strings that were not shown are counted when they are listed, at no further cost.
    ``selected_counts``: whether what a selection compared is part of the counts of strings, shown and listed ones.
    ``fewer_strings``: whether they have less of a start, and choosing them more of it, where few questions are planned.
    ``strings_beside``: whether what hard rounds measure of strings by several columns is weighed with what is known
    beside it, and their answers with what the model said.
    ``shifted``: a list that was counted is drawn to what was expected of its strings by so many sds of its noise at
    most. ``drawn_lists``: whether it is drawn to what is likely of lists that are drawn evenly, by row or from
    elsewhere, whenever it was counted. ``rest``: whether strings that no column has counted follow what the counted
    ones leave of it.
    ``listed_spares``: whether a question about listed strings may be answered by a spare release.
    ``mixed_strings``: whether cells of strings are weighed by how many of them are how far off, and lighter strings are
    counted by columns, too; with one finite column less of a first touch then chooses strings, and more counts cells.

    ``by_chance``: whether cells of strings that are as expected are so as rows drawn with the column's shares are.

    ``lesson_scopes``: from how many local models of each number of columns error bars are learned at most; 0 for any.
    ``scattered``: whether error bars know of how many ranges a condition on an ordered column is made.
    ``extrapolated``: whether they grow with how far an answer is below the pairs of columns that it is worked out from.
    ``uncut``: whether they know a list of one column's values by no measurement whose parts it cuts.
    ``triples``: or below the triples, where these were measured, and not where all of its columns were.
    ``upwards``: whether they grow by the factor by which such an answer may be too low, and not also by what unseen
    interactions may add to it. ``rows_met``: whether they are also learned from conditions that rows of the model meet.
    ``uncut_pairs``: whether they know conditions on several columns by no measurement whose parts these cut.
    ``as_measured``: whether those of three columns and more know what was measured of all of these together.
    ``row_weights``: whether sums have the bars of as many rows as they are made of, times what a row counts in them;
    ``effective_rows``: whether these are compared with pairs of other columns in as many, and what is unseen moves what
    rows do not count alike.
    ``shared_rows``: whether they know how many rows conditions share on columns of which one copies the other.
    ``leaning``: whether those of lists know how far the rows of strings lean to one side of a column, and inside bins.
    ``left_out``: whether those of conditions that most rows meet are no wider than those of what these leave out.
    ``ties_weighed``: whether those of conditions that tie columns together are of conjunctions where rows are weighed.
    ``compared``: whether those of conditions that compare columns know what the parts of these leave open.
    ``contradicted``: whether those of lists are as wide as what was measured of them where that contradicts estimates.
    ``evenly``: whether they know what answers would be were rows spread evenly where noise hides how they are.
    ``cut_off``: whether they know what may be in cells that noise took to 0, ``crowded_ends``: and what noise hides
    at 0 and at the ends of a number's range.

    ``by_value``: whether a condition that cuts bins of numbers is a question of its own about the values of rows, and a
    first look counts them at and between round numbers. ``values_beside``: whether what is released of such a question
    is what estimates leave open of it, sums of values get spare releases, and hard rounds' numbers of both are weighed.
    ``listed_by_value``: whether it is so beside listed strings, too. ``stretches``: of conditions that take at most so
    many of these inside of bins; of more than four sums over a single value are its count times that value.
    ``crowded``: whether cells in which rows do not crowd are possible counts, and bars know what noise crowded ones
    leave to them and, of sums, that rows which crowd between two round numbers may all be at one place there.
    ``hidden_crowds``: whether rows may crowd where a count does not stand out of its noise. ``settled_together``:
    whether bins whose cells say that rows begin, end or crowd there are shared by these from long stretches down.
    ``nested_crowds``: whether rows crowd on round numbers at least as on less round ones, and bars know what noise
    hides of round numbers that are told together.
    ``beside_neighbours``: whether the places of a bin that a condition cuts meet other conditions as its neighbours do.
    ``confined``: whether bars of sums know which bins are summed, and how little a condition leaves of one.
    ``unlearned``: whether bars of what no lesson is about yet know more than the noise of the tables that cover it.
    ``curves``: whether sums of a curve of a number column are asked by value, along its chord in each bin. ``jointly``:
    whether bars of sums of several terms, and of variances, know that these are of the same rows.

    ``cut_classes``: bins that a condition cuts in up to so many ways are asked for one by one; of more they are one
    weighted question, and one of what is cut. ``passed``: what is rounded in more places of a column than are looked at
    is looked at where it passes what it is compared with.
    ``calendar``: whether long ranges of dates are also measured in longer units of the calendar. ``calendar_pairs``:
    whether those of a table of one tensor are so with other columns, too.
    ``coarse_triples``: whether three columns of wide tables of many rows are measured together, over few parts, and
    cleaned once. ``inside_parts``: whether pairs of wide tables go inside of their parts as their neighbours do, where
    these clearly differ. ``excluded``: whether bars know that what conditions share which nearly exclude each other may
    be the noise of cells without rows. ``by_threes``: whether conditions on four columns and more follow what is said
    of each three of these.

    ``top_down``: whether counts of a column's cells are made possible ones at once, by long ranges first where it is
    ordered. ``smooth``: whether what is finer than noise in such a column is shrunk before, where neighbours are alike,
    and bars are learned from what it may be. ``peaks``: whether cells that stand out of their neighbours there beyond
    all noise are as they were measured, and possible counts those of the others. ``cycles``: whether what comes again
    each hour, day or week is none of what is shrunk.

    ``whole_tables``: whether tables of many rows for their cells are also measured whole. ``pure_columns``: of
    contingencies of at most so many columns the interactions are taken apart.
    """

    lone_columns: bool = True
    trace: float = 0.1
    close: tuple[int, ...] = (2, 1)
    rounds: int = 96
    moved: float = 0.3
    rakes: int = 20
    floor: float = 0.001
    held: float = 2.5
    sweeps: int = 20
    settled: float = 0.1
    cut_counts: bool = True
    at_once: bool = True
    parts_first: bool = True
    classes: bool = True
    weighed: bool = True
    residuals: bool = True
    sparing: bool = True
    halved: bool = True
    fractions: bool = True
    rounds_beside: bool = True
    every_string: bool = True
    shifted: float = 0.4
    rest: bool = True
    lesson_scopes: int = 64
    scattered: bool = True
    extrapolated: bool = True
    hidden_kinds: bool = True
    mixed: bool = True
    in_common: bool = True
    listed_spares: bool = True
    families: bool = True
    distances: bool = True
    triples: bool = True
    uncut: bool = True
    independent: bool = True
    mixed_strings: bool = True
    halfway: bool = True
    upwards: bool = True
    rows_met: bool = True
    uncut_pairs: bool = True
    rounds_weighed: float = 3.0
    tested_together: bool = True
    as_measured: bool = True
    row_weights: bool = True
    whole_tables: bool = True
    pure_columns: int = 3
    by_value: bool = True
    values_beside: bool = True
    top_down: bool = True
    effective_rows: bool = True
    crowded: bool = True
    confined: bool = True
    accelerated: bool = True
    by_chance: bool = True
    unlearned: bool = True
    curves: bool = True
    jointly: bool = True
    coarsely: bool = True
    coarse_triples: bool = True
    by_threes: bool = True
    about_middle: bool = True
    lone_sums: bool = True
    copulas: bool = True
    shared_rows: bool = True
    evenly: bool = True
    beside_null: bool = True
    smooth: bool = True
    hidden_crowds: bool = True
    paced: bool = True
    variances: bool = True
    signed: bool = True
    fine: bool = True
    all_groups: bool = True
    as_counted: bool = True
    fine_rounds: bool = True
    pairs_together: bool = True
    left_out: bool = True
    ties_weighed: bool = True
    families_alike: bool = True
    drawn_lists: bool = True
    calendar: bool = True
    cut_classes: int = 2
    calendar_pairs: bool = True
    compared: bool = True
    cut_above: bool = True
    contradicted: bool = True
    settled_together: bool = True
    inside_parts: bool = True
    beside_neighbours: bool = True
    excluded: bool = True
    listed_by_value: bool = True
    leaning: bool = True
    selected_counts: bool = True
    stretches: int = 32
    fewer_strings: bool = True
    strings_beside: bool = True
    nested_crowds: bool = True
    peaks: bool = True
    cut_off: bool = True
    crowded_ends: bool = True
    passed: bool = True
    cycles: bool = True


_THIRTY_SEVENTH = ModelRules(crowded_ends=False, passed=False, cycles=False)
_THIRTY_SIXTH = replace(_THIRTY_SEVENTH, cut_off=False)
_THIRTY_FIFTH = replace(_THIRTY_SIXTH, peaks=False)
_THIRTY_FOURTH = replace(_THIRTY_FIFTH, fewer_strings=False, strings_beside=False, nested_crowds=False)
_THIRTY_THIRD = replace(_THIRTY_FOURTH, selected_counts=False, stretches=4)
_THIRTY_SECOND = replace(_THIRTY_THIRD, listed_by_value=False, leaning=False)
_THIRTY_FIRST = replace(_THIRTY_SECOND, inside_parts=False, beside_neighbours=False, excluded=False)
_THIRTIETH = replace(_THIRTY_FIRST, cut_above=False, contradicted=False, settled_together=False)
_TWENTY_NINTH = replace(_THIRTIETH, calendar_pairs=False, compared=False)
_TWENTY_EIGHTH = replace(_TWENTY_NINTH, drawn_lists=False, calendar=False, cut_classes=6)
_TWENTY_SEVENTH = replace(_TWENTY_EIGHTH, families_alike=False)
_TWENTY_SIXTH = replace(_TWENTY_SEVENTH, left_out=False, ties_weighed=False)
_TWENTY_FIFTH = replace(_TWENTY_SIXTH, as_counted=False, fine_rounds=False, pairs_together=False)
_TWENTY_FOURTH = replace(_TWENTY_FIFTH, variances=False, signed=False, fine=False, all_groups=False)
_TWENTY_THIRD = replace(_TWENTY_FOURTH, hidden_crowds=False, paced=False)
_TWENTY_SECOND = replace(_TWENTY_THIRD, smooth=False)
_TWENTY_FIRST = replace(_TWENTY_SECOND, shared_rows=False, evenly=False, beside_null=False)
_TWENTIETH = replace(_TWENTY_FIRST, about_middle=False, lone_sums=False, copulas=False)
_NINETEENTH = replace(_TWENTIETH, coarse_triples=False, by_threes=False)
_EIGHTEENTH = replace(_NINETEENTH, curves=False, jointly=False, coarsely=False)
_SEVENTEENTH = replace(_EIGHTEENTH, by_chance=False, unlearned=False)
_SIXTEENTH = replace(_SEVENTEENTH, confined=False, accelerated=False, rounds=12, moved=1.0)
_FIFTEENTH = replace(_SIXTEENTH, crowded=False)
_FOURTEENTH = replace(_FIFTEENTH, rounds_weighed=2.0, tested_together=False)
_THIRTEENTH = replace(_FOURTEENTH, values_beside=False, top_down=False, effective_rows=False)
_TWELFTH = replace(
    _THIRTEENTH,
    uncut_pairs=False,
    rounds_weighed=0.0,
    as_measured=False,
    row_weights=False,
    whole_tables=False,
    pure_columns=5,
    by_value=False,
)
_ELEVENTH = replace(_TWELFTH, halfway=False, upwards=False, rows_met=False)
_TENTH = replace(_ELEVENTH, distances=False, triples=False, uncut=False, independent=False, mixed_strings=False)
_NINTH = replace(_TENTH, families=False)
_EIGHTH = replace(_NINTH, held=inf, hidden_kinds=False, mixed=False, in_common=False, listed_spares=False)
_SEVENTH = replace(_EIGHTH, extrapolated=False)
_SIXTH = replace(_SEVENTH, rounds_beside=False, shifted=inf, rest=False, lesson_scopes=0, scattered=False)
_FIFTH = replace(_SIXTH, every_string=False)
_FOURTH = replace(_FIFTH, sparing=False, halved=False, fractions=False)
_THIRD = replace(_FOURTH, weighed=False, residuals=False)
_SECOND = replace(_THIRD, classes=False)
_FIRST = replace(
    _SECOND,
    lone_columns=False,
    trace=0.0,
    close=(2, 1, 1, 2, 1, 1, 1),
    rounds=1,
    moved=0.0,
    rakes=1,
    floor=0.05,
    sweeps=5,
    settled=0.0,
    cut_counts=False,
    at_once=False,
    parts_first=False,
)
MODEL_RULES: Mapping[int, ModelRules] = MappingProxyType(
    {
        1: _FIRST,
        2: _SECOND,
        3: _THIRD,
        4: _FOURTH,
        5: _FIFTH,
        6: _SIXTH,
        7: _SEVENTH,
        8: _EIGHTH,
        9: _NINTH,
        10: _TENTH,
        11: _ELEVENTH,
        12: _TWELFTH,
        13: _THIRTEENTH,
        14: _FOURTEENTH,
        15: _FIFTEENTH,
        16: _SIXTEENTH,
        17: _SEVENTEENTH,
        18: _EIGHTEENTH,
        19: _NINETEENTH,
        20: _TWENTIETH,
        21: _TWENTY_FIRST,
        22: _TWENTY_SECOND,
        23: _TWENTY_THIRD,
        24: _TWENTY_FOURTH,
        25: _TWENTY_FIFTH,
        26: _TWENTY_SIXTH,
        27: _TWENTY_SEVENTH,
        28: _TWENTY_EIGHTH,
        29: _TWENTY_NINTH,
        30: _THIRTIETH,
        31: _THIRTY_FIRST,
        32: _THIRTY_SECOND,
        33: _THIRTY_THIRD,
        34: _THIRTY_FOURTH,
        35: _THIRTY_FIFTH,
        36: _THIRTY_SIXTH,
        37: _THIRTY_SEVENTH,
        38: ModelRules(),
    }
)
"""By the version that a plan names; plans that name none are older than the second. Ledgers keep theirs: a version that
ledgers were written with is never changed, a better one is added."""
NEWEST = MODEL_RULES[max(MODEL_RULES)]
