"""Patterns of sentences that forbid or demand, in twelve languages, and of sentences that only seem to.

Border: patterns alone; ``constraints.py`` applies them. A match of ``DEMANDS`` is enough: something is forbidden or demanded.
Sentences that match ``MODALS`` or ``ADVERBS`` may also describe: "the test never ends", "that should work now". English has the
most patterns. For German, French, Spanish, Italian, Portuguese, Dutch, Russian, Polish, Chinese, Japanese and Korean only the
common forms are covered; sentences in other forms or languages are not found.
"""

import re

from palimpsest.lazy_patterns import lazy_pattern


def _any_of(*patterns: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(patterns), re.IGNORECASE | re.VERBOSE)


_IMPERATIVE_BEGIN = r"(?:^|[,;:(]\s*|\b(?:please|but|and|so|then|also|ok|bitte|aber|und|mais|et|pero|y|ma|per\s+favore|mas|por\s+favor)\s+)"
"""Where an imperative can begin."""

DEMANDS = _any_of(
    # English
    r"\bmust(?:\s+not|n'?t)\b|\b(?:forbidden|prohibited|mandatory|off[\s-]limits|not\s+allowed|not\s+permitted|no\s+more\s+than|at\s+(?:most|least))\b",
    r"\bunder\s+no\s+circumstances\b|\b(?:make\s+sure|ensure|avoid|refrain\s+from)\b",
    rf"{_IMPERATIVE_BEGIN}(?:do\s+not|don'?t)\b(?!\s+(?:need|have\s+to|know|think|understand|mind|care|worry|that|it|i|we)\b)",
    rf"{_IMPERATIVE_BEGIN}no(?=\s+\w+(?:\s+\w+){{0,5}}\s*[.!]?$)(?!\s+(?:longer|one|idea|problem|luck|errors?|worr\w+|rush|need|hurry|changes?|difference|way|doubt"
    r"|clue|reason|response|matter|effect|that|it|i|we|es|me|se|hay|lo|funciona|puedo|entiendo|tengo|tienes|est\w+|s[eé])\b)",
    rf"{_IMPERATIVE_BEGIN}(?:stop\s+\w+ing|hands\s+off|leave\s+.{{1,60}}\s(?:alone|untouched|as\s+(?:it\s+is|is|they\s+are)))\b",
    rf"{_IMPERATIVE_BEGIN}keep\b.{{1,60}}\b(?:under|below|within)\s+\d",
    rf"{_IMPERATIVE_BEGIN}only\b(?!\s+(?:one|some|a)\b)(?:(?=.{{1,80}}\b(?:may|can|must|should|shall)\b)|(?!\s+the\b))|\b(?:please|may|can)\s+only\b(?!\s+(?:one|some|a)\b)",
    r"\bi\s+(?:do\s+not|don'?t)\s+want\s+(?:you|any|to\s+see|a|the)\b",
    # German
    r"\b(?:verboten|untersagt|vermeide\w*)\b|\bd(?:a|ü|ue)rf(?:st|t|en)?\b.{0,80}\b(?:nicht|nie(?:mals)?|nur|kein\w{0,2})\b",
    r"^(?:bitte\s+)?(?!(?:der|die|das|er|sie|es|ich|wir|ihr|diese[rs]?|heute|hier|warum|habe|hatte|gibt|eine?|meine|keine|alle|leider)\b)"
    r"\w+(?:e|t)\s.{1,120}\bnicht\s*[.!]?$|^bitte\s.{1,120}\bnicht\s+\w+(?:en|ern|eln)\s*[.!]?$",
    r"(?:^|\bbitte\s+)kein(?:e[nmrs]?)?\s+(?!ahnung|problem|sorge|eile|fehler|angst|zeit|lust|grund|unterschied)\w",
    # French, Spanish, Italian, Portuguese
    rf"\b(?:interdit\w*|prohibid\w*|vietat\w*|proibid\w*)\b|{_IMPERATIVE_BEGIN}(?:ne\s+\w+|n['\u2019]\w+)\s+(?:pas|plus|jamais|aucun\w*|que|rien)\b",
    rf"{_IMPERATIVE_BEGIN}no\s+(?!(?:es|tienes|puedes|sabes|quieres|debes|eres|entiendes|ves|hay)\b)\w+(?:es|as|éis|áis|en|an)\s+\w",
    rf"{_IMPERATIVE_BEGIN}non\s+\w+(?:are|ere|ire)\b|{_IMPERATIVE_BEGIN}não\s+(?!(?:é|há|sei|precisa\w*|funciona|tenho|consigo|entende|entendo|está|seja)\b)\w+(?:e|a|es|as|em|am)\s",
    # Dutch, Polish, Russian
    r"^(?!(?:ik|er|het|we|dit|dat|de|een|hij|zij|wij|die|daar)\b)\w+\s+geen\b|\bverboden\b|^nie\s+\w+(?:aj|uj|ij|iaj|ajcie|ujcie|ń)\b",
    rf"\b(?:нельзя|запрещ\w*|запрещено)\b|{_IMPERATIVE_BEGIN}не\s+(?!(?:очень|здесь|теперь|есть|только|могли|смогли)\b)\w+(?:й|йте|и|ите|ь|ьте)\b",
    # Chinese, Japanese, Korean
    r"不要|不能|不得|不许|不准|不可(?!能)|禁止|严禁|只能|只用|切勿|[请請]勿|(?:^|[,\uff0c;\uff1b\s请])[别別](?![的人处名称墅])|务必|必须|必須|一定要",
    r"しないで|ないでください|ないで下さい|ないこと|てはいけ|てはなら|必ず|決して|だけを使|のみ|마세요|마십시오|말아|말\s?것|금지|절대|반드시",
)
"""Words that forbid or demand without other evidence."""

MODALS = _any_of(
    r"\b(?:must|shall|(?<!\bwe\s)should(?:n'?t)?)\b",
    r"\b(?:muss(?:t)?|m(?:ü|ue)ssen|soll(?:st|en|te)?)\b|\b(?:doi(?:t|s|vent)|devez)\b|\b(?:debe[ns]?|dev[ei]\w{0,3})\b|\bmoet(?:en)?\b",
    r"\b(?:долж[её]?н\w*|musi\w{0,3}|powin\w*)\b",
)
"""Modal verbs that demand, unless the sentence only supposes, or denies that something is needed."""

ADVERBS = _any_of(
    r"\bonly\s+(?:use|change|edit|touch|modify|read|write|run|look|work)\b|\b(?:use|change|edit|touch|modify|read|write|run)\s+only\b",
    r"\b(?:never|always)\b|\b(?:nie(?:mals)?|immer|stets|nur)\b|\b(?:jamais|toujours|seulement|uniquement)\b",
    r"\b(?:nunca|jam[aá]s|siempre|s[oó]lo|solamente|somente|apenas)\b|\b(?:mai|sempre|soltanto)\b|\b(?:nooit|altijd|alleen)\b",
    r"\b(?:никогда|всегда|только)\b|\b(?:nigdy|zawsze|tylko)\b|(?:^|[,\uff0c请請应應]\s*)(?:总是|總是)|(?:常に|だけ).{0,40}(?:ください|下さい|こと)|항상.{0,40}(?:세요|십시오)",
)
"""Adverbs that demand in an imperative or beside a modal verb, and describe a state after a subject."""

SUPPOSITIONS = _any_of(
    r"\b(?:must|should)\s+have\s+\w+(?:ed|en|n|t|d)\b|\b(?:must|should)\s+always\s+have\s+(?:been|had)\b|\bmust\s+be\s+(?:the|a|an|some|because|due|why)\b",
    r"\bshould\s+(?:already\s+|now\s+|then\s+)?(?:work|help|fix|suffice|do\s+it|be\s+(?:fine|ok|okay|enough|done|easy|safe|good|ready))\b",
    r"\bi\s+(?:must|should)\b|\bwe\s+should(?:\s+always)?\s+have\b",
    r"\b(?:sollte|devrait|deber[ií]a|dovrebbe|deveria|zou\s+moeten)\b(?=.{0,40}\b(?:funktionieren|gehen|marcher|funcionar|funzionare|werken)\b)",
)
"""Words of a supposition or of a report about the past."""

NOT_NEEDED = _any_of(
    r"\b(?:needn'?t|need\s+not|(?:do|does)(?:\s+not|n'?t)\s+(?:need|have\s+to)|no\s+need|not\s+(?:necessary|needed|required|mandatory)|isn'?t\s+(?:necessary|needed|required|mandatory))\b",
    r"\b(?:muss|musst|m(?:ü|ue)ssen|m(?:ü|ue)sst|brauch\w*)\b.{0,80}\bnicht\b(?!\s*,)|\bnicht\s+(?:n(?:ö|oe)tig|notwendig|erforderlich)\b",
    r"\bpas\s+(?:oblig\w+|besoin|n[eé]cessaire|la\s+peine)\b|\bno\s+(?:tienes?|tiene|hace\s+falta|es\s+necesario|necesitas?)\b",
    r"\bnon\s+(?:devi\s+per\s+forza|serve|c'è\s+bisogno|è\s+necessario|occorre)\b|\bnão\s+(?:precisa\w*|é\s+necess[aá]rio)\b",
    r"\b(?:hoef\w*|hoeven)\b|\bн\u0435\s+(?:обязательно|обязан\w*|нужно|надо)\b|\bnie\s+(?:musisz|trzeba)\b",
    r"不必|不用|不需要|无需|なくても(?:いい|良い|よい)|必要はない|않아도|필요\s?없",
)
"""Words that deny a need, whatever other words there are."""

DESCRIPTIONS = _any_of(
    # A subject at the beginning, without a verb of wanting after it.
    r"^(?:(?:and|but|so|then|now|ok|also|well|aber|und|mais|et|pero|y)\s*,?\s+)?"
    r"(?:i|ich|je|yo|io|eu|ik|the|this|that|these|those|it|he|she|they|an?|my|our|its|der|die|das|er|sie|es|ein|eine|mein|dieser?|dieses|le|la|les|l['\u2019]\w+|il|elle|ils|elles|un|une|mon"
    r"|ce|cette|el|los|las|una|mi|este|esta|lo|gli|uno|os|o|de|het|een|deze|dit|dat|we|wir|nous|on)\s(?!.{0,80}\b(?:to|want\w*|will|möchte\w*|veux|quiero|voglio|quero|wil)\b)",
    r"\b\w+\s+(?:never|always|only)\s+\w+s\b",
    r"\b(?:only|nur|seulement|s[oó]lo|solamente|soltanto|apenas|somente|alleen|только)\s+"
    r"(?:have|has|had|is|are|was|were|habe\w*|hatte\w*|tengo|tenemos|hay|queda\w*|ho|abbiamo|tenho|temos|heb|hebben)\b",
    r"\b(?:никогда|всегда|только)\s+(?:не\s+)?\w+(?:ет|ёт|ит|ют|ут|ят|ат|ется|ится|ал|ла|ло|ли)\b",
)
"""Sentences that describe a state."""
