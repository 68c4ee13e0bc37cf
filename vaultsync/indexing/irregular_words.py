"""The forms of irregular English words, which no stemmer reduces to one stem: *sell*, *sold*.

Words with other common meanings in another form (*lie*, *lay*; *leaf*, *leaves*) are left out.
"""

from __future__ import annotations

from types import MappingProxyType

_FORMS = """
begin began begun; break broke broken; bring brought; build built; buy bought; catch caught;
choose chose chosen; come came; draw drew drawn; drink drank drunk; drive drove driven;
eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown;
forget forgot forgotten; freeze froze frozen; give gave given; go went gone;
grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known;
lead led; leave left; lend lent; lose lost; make made; mean meant; meet met; pay paid;
ride rode ridden; ring rang rung; run ran; say said; see saw seen; seek sought; sell sold;
send sent; shake shook shaken; shoot shot; sing sang sung; sink sank sunk; sit sat; sleep slept;
speak spoke spoken; spend spent; stand stood; steal stole stolen; stick stuck; strike struck;
swim swam swum; take took taken; teach taught; tear tore torn; tell told; think thought;
throw threw thrown; understand understood; wake woke woken; wear wore worn; win won;
write wrote written; child children; foot feet; goose geese; half halves; knife knives;
loaf loaves; man men; mouse mice; shelf shelves; thief thieves; tooth teeth; wife wives;
wolf wolves; woman women
"""
FORMS = MappingProxyType(
    {word: forms.split() for forms in _FORMS.split(";") for word in forms.split()}
)
"""Form -> all forms of the word, in lower case."""
