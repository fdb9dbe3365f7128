"""A page as a browser would take it: elements with their attributes and texts; a tag that is not closed is an error."""

from html.parser import HTMLParser

EMPTY = {"meta", "img", "br", "hr", "input", "link"}


class Element:
    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent, self.children = tag, attributes, parent, []

    @property
    def text(self):
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self):
        return (self.attributes.get("class") or "").split()

    def all(self, tag=None, kind=None):
        for child in self.children:
            if isinstance(child, Element):
                if (tag in (None, child.tag)) and (kind is None or kind in child.classes):
                    yield child
                yield from child.all(tag, kind)


class _Parser(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.here = Element("document", {}, None)

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice"
        element = Element(tag, dict(attributes), self.here)
        self.here.children.append(element)
        if tag not in EMPTY:
            self.here = element

    def handle_endtag(self, tag):
        assert tag == self.here.tag, f"</{tag}> where <{self.here.tag}> is open"
        self.here = self.here.parent

    def handle_data(self, data):
        self.here.children.append(data)


def parse(html):
    """The document; all tags are closed, in order."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert parser.here is parser.root, f"<{parser.here.tag}> is not closed"
    return parser.root
