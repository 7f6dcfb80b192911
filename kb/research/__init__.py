"""Papers, forks, pages, files and git ranges into `sources/`: fetched politely, compared with
upstream, read for what they claim.

    git · diffs · symbols        local histories, unified diffs, names in lines of any language
    upstream · kinds             what upstream has; the kind of a change with its evidence
    claims                       figures that a change states
    techniques                   the one table of what a change may pull
    forks · github · readings    heads compared and ranked; the forge's interface; a fork as a source
    papers · documents · pdf     arXiv; HTML, PDF, notebooks and Markdown as text for quoting
    network · jobs               checked, bounded, conditional requests; captures that may be run again
    ideas                        what captured sources offer a target

Refuses: private addresses, unbounded answers, to run or render what it captured, and to know
pages of the wiki.
"""
