"""What MuJoCo's parser reads and XML forbids: the same model, and problems in the lines where they are."""

import re

import pytest
from test_mjcf_oracle import assert_equal

from jaxsim.mjcf import MjcfError, compile_mjcf
from jaxsim.mjcf.reading.forgiving import forgiven

TEXT = "<mujoco><custom><text name='t' data={}/></custom><worldbody>{}</worldbody></mujoco>"
ACCEPTED = {
    "dashes in comments": "<mujoco><!-- ---- bodies ---- --><!-- a -- b --><!-- x ---><!--><worldbody/><!-- --></mujoco>",
    "space before the declaration": '\n  <?xml version="1.0"?>\n<mujoco/>',
    "a mark of the order of bytes": '\ufeff<?xml version="1.0"?><mujoco/>',
    "two declarations": '<?xml version="1.0"?><?xml version="1.0"?><mujoco/>',
    "words before and between elements": "model <mujoco>hello & all &lol;<worldbody>you</worldbody></mujoco>",
    "ampersands": TEXT.format(
        "'x & y&nbsp;z &amp; &lt;a&gt; &quot;q&quot; &#65;&#x42;&#x1F600; &amp'", "<body name='b&c'/>"
    ),
    "angles": TEXT.format("'x < y <!-- c --> z > w /> v'", ""),
    "quotes in quotes": TEXT.format("'k=\"v\"w'", "<geom size='.1'name=\"q\"/>"),
    "tabs and lines": TEXT.format("'a\tb\nc\r\nd\re'", "<body name='a\tb'/>"),
    "namespaces of the root": '<mujoco xmlns="http://x" xmlns:xi="q" a:b="1"/>',
    "declarations of nothing": "<mujoco><!thing><![CDATA[ <x> & ]]></mujoco>",
    "spaces around what is written": '<mujoco ><worldbody><geom size = ".1" /></worldbody ></mujoco >',
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_it_reads_what_mujoco_reads(name):
    assert_equal(ACCEPTED[name])


def test_lines_stay():
    text = """
    <?xml version="1.0"?>
    <!-- the robot -- of
         two lines -->
    <mujoco> & some
      words
      <custom><text name="t" data="one
        two & three
        four"/><text
        name="u" data="<"/></custom>
      <worldbody><boddy/>
        <geom size="-1"/></worldbody>
    </mujoco>"""
    for end in "\n", "\r\n":
        with pytest.raises(MjcfError) as error:
            compile_mjcf(text.replace("\n", end))
        assert re.findall(r":(\d+): <(\w+)>", str(error.value)) == [("11", "boddy"), ("12", "geom")]


def test_what_nobody_can_read_is_left_alone():
    for text in ("<mujoco", "<mujoco><a x='1></mujoco>", "<mujoco><!-- x </mujoco>", "<mujoco>a < b</mujoco>"):
        assert forgiven(text)[-5:] == text[-5:]
        with pytest.raises(MjcfError, match=r"<string>:1: <\w+>: malformed XML"):
            compile_mjcf(text)


@pytest.mark.parametrize("many", ["<", "<a ", "<a b='", "<!-- ", "<!", "&", "<a b='&#", "\"'", "<?xml "])
def test_no_text_takes_long(many):
    """A hundred thousand of anything: what tries again from each of them would take hours."""
    assert len(forgiven("<mujoco>" + 100_000 * many)) >= 100_000
