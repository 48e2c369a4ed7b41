"""Letters and digits of any script that pass for a Latin letter, as a hasty reader sees them.

Chosen from Unicode's table of confusable characters (confusables.txt of UTS #39): those that a nickname can have, in
the form that compatibility decomposition and case folding give them. Small capitals and letters with a stroke are
added. ``i``, ``1`` and what looks like them are all ``l``.

The store keeps outlines of names. Whoever changes this table adds an upgrade of the store that writes them anew.
"""

from __future__ import annotations

from typing import Final

_LETTERS: Final = (
    "ȷłøħđŧ"
    "!0135i|ıƅƍƨƽǀȝȣɑɜɡɢɣɩɪɯɴʀʋʏʒʙʜʝʟαβγεζηικμνορστυχϝϩϳϻабвгезкмнорстухьѕіјѡѵүһҽӏӡԁԍԛԝագզհոռստցքօ۱۵۷"
    "०০৪৭੦੧੪૦ଠ୦୨௦౦೦ഠ൦൭๐໐ဝ၀ყჿሀዐᎠᎡᎢᎥᎩᎪᎫᎬᎱᎳᎷᎻᎽᏀᏂᏃᏎᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏮᏳᏴᐯᑌᑭᑯᑲᒍᒪᒿᕁᕼᕽᖇᖯᖴᗅᗞᗪᗰᗷᚷᛁᛕᛖᴀᴄᴅᴇᴊᴋᴍᴏᴑᴘᴛᴜᴠᴡᴢᴦᶃ"
    "ᶌẝỿⲅⲏⲓⲕⲙⲛⲟⲣⲥⲧⲩⲭⳋⳍⳑⳓⴸⴹⵏⵔⵕⵝ〇ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴꙅꙇꛟꛯꜰꜱꝛꝫꝯꞙꞟꞵꬲꬵꬽꭇꭈꭎꭒꭓꭚ𐊂𐊆𐊇𐊊𐊐𐊒𐊕𐊖𐊗𐊠𐊡𐊢𐊥𐊫𐊰𐊱𐊲𐊴𐋏𐋵𐌁𐌂𐌉"
    "𐌑𐌕𐌗𐌚𐌠𐌢𐐬𐐽𐑃𐑈𐓜𐓪𐓶𐓺𐔓𐔖𐔘𐔜𐔝𐔥𐔦𐔧𑓐𑜆𑜊𑜎𑜏𑣀𑣁𑣂𑣃𑣄𑣆𑣈𑣉𑣊𑣌𑣎𑣏𑣒𑣕𑣖𑣗𑣘𑣛𑣜𑣠𑣥𑣦𑣩𑣬𑣯𑣲𖼈𖼊𖼖𖼨𖼵𖼺𖼻𖽀𖽂𖽃"
)
_LATIN: Final = (
    "jlohdt"
    "loleslllbg2sle8aeggyllwnruyebhjlabyezhlkmvopotuxf2jma6breekmhopctyxbsljwvyheledgqwwqqhnnusgfolov"
    "oo89o98ooo9ooooo9ooooyouodrtlyajerwmhyghz4brwsvslcpkd6gbvupdbjl2xhxrbfaddmbxlkmacdejkmooptuvwzrg"
    "yfyrhlkmnopctyx9el6veloqxobpddtgkjczfmnlsrvhwxyaelou2lv2fs2e9fubeforruuxybeflxopstabcfomtyxhzbcl"
    "mtx8lxoclsrou7nokcvflxovwwwvsflzeoze9e4lo9ousyozwcxwcvtllrseauy"
)
LOOKALIKES: Final = str.maketrans(_LETTERS, _LATIN)
"""Each onto the one that it passes for."""
