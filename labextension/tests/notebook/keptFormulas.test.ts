// @vitest-environment jsdom
/** A page has each of its formulas typeset once. */
import { beforeEach, describe, expect, it } from 'vitest';
import {
  forgetFormulas,
  typesetAdded
} from '../../src/notebook/rendering/keptFormulas';

/** The sources that were typeset, in order. */
let typeset: string[] = [];
const drawn = document.createElement('div');

beforeEach(() => {
  forgetFormulas();
  typeset = [];
});

/** Typesets as MathJax does: what stands between signs becomes an element; prices and code stay. */
function typesetAll(root: HTMLElement): Promise<void> {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode() !== null) {
    const text = walker.currentNode as Text;
    if (!text.parentElement?.closest('code, mjx-container')) {
      texts.push(text);
    }
  }
  for (const text of texts) {
    const pieces = text.data.split(/(\$\$[^$]+\$\$|\$[^$]+\$|\\\(.+?\\\))/);
    text.replaceWith(
      ...pieces.map((piece, index) => {
        if (index % 2 === 0) {
          return piece;
        }
        typeset.push(piece);
        const formula = document.createElement('mjx-container');
        formula.title = piece;
        return formula;
      })
    );
  }
  return Promise.resolve();
}

/** Draws HTML anew, as a renderer does with each update. */
async function draw(
  html: string,
  added: (place: HTMLElement) => void = () => undefined
) {
  drawn.innerHTML = html;
  await typesetAdded(drawn, typesetAll, added);
}

const formulas = () => [...drawn.querySelectorAll('mjx-container')];

describe('A text that grows', () => {
  it('has each formula typeset once', async () => {
    await draw('<p>The mean $x^2$ of</p>');
    await draw('<p>The mean $x^2$ of $\\frac{1}{n}$ is</p>');
    await draw('<p>The mean $x^2$ of $\\frac{1}{n}$ is written.</p>');

    expect(typeset).toEqual(['$x^2$', '$\\frac{1}{n}$']);
    expect(drawn.innerHTML).toBe(
      '<p>The mean <mjx-container title="$x^2$"></mjx-container> of ' +
        '<mjx-container title="$\\frac{1}{n}$"></mjx-container> is written.</p>'
    );
  });

  it('has a formula as often as it is written, typeset once', async () => {
    await draw('<p>$a$ and $a$</p>');
    expect(drawn.innerHTML).toBe(
      '<p><mjx-container title="$a$"></mjx-container> and ' +
        '<mjx-container title="$a$"></mjx-container></p>'
    );
    await draw('<p>$a$, $a$ and $a$</p>');
    expect(formulas()).toHaveLength(3);

    await draw('<p>none</p>');
    expect(formulas()).toHaveLength(0);
    expect(typeset).toEqual(['$a$']);
  });

  it('shows a formula of another text without typesetting it', async () => {
    await draw('<p>$a$</p>');
    const other = document.createElement('div');
    other.innerHTML = '<p>so $a$</p>';
    await typesetAdded(other, typesetAll, () => undefined);

    expect(other.textContent).toBe('so ');
    expect(other.querySelectorAll('mjx-container')).toHaveLength(1);
    expect(formulas()).toHaveLength(1);
    expect(typeset).toEqual(['$a$']);
  });

  it('has a formula typeset again after a definition', async () => {
    await draw('<p>$\\a$</p>');
    await draw('<p>$\\def\\a{1}$</p>');
    await draw('<p>$\\a$</p>');
    expect(typeset).toEqual(['$\\a$', '$\\def\\a{1}$', '$\\a$']);
  });

  it('keeps the 500 formulas that were used last', async () => {
    const names = Array.from({ length: 501 }, (_, number) => `$a_{${number}}$`);
    for (const name of names.slice(0, 500)) {
      await draw(name);
    }
    await draw('$a_{0}$');
    await draw('$a_{500}$');
    expect(typeset).toEqual(names);

    await draw('$a_{0}$');
    expect(typeset).toHaveLength(501);
    await draw('$a_{1}$');
    expect(typeset).toHaveLength(502);
  });

  it.each([
    ['displayed', '<p>$$x$$</p>'],
    ['between brackets', '<p>\\(x\\)</p>'],
    ['beside a price', '<p>It costs $5, and $x$</p>'],
    ['with a definition', '<p>$\\def\\a{1}$</p>'],
    ['with open braces', '<p>$a{b$ c}$</p>']
  ])('leaves a formula %s to the typesetter', async (_, html) => {
    const added: HTMLElement[] = [];
    await draw(html, element => {
      added.push(element);
    });
    expect(added).toEqual([drawn]);
  });

  it('has nothing typeset where no sign is, nor in code', async () => {
    let asked = 0;
    drawn.innerHTML = '<p>Words.</p><pre><code>$x$</code></pre>';
    await typesetAdded(
      drawn,
      () => {
        asked += 1;
      },
      () => undefined
    );
    expect(asked).toBe(0);
  });

  it('names what was typeset, so that it alone is sanitized', async () => {
    await draw('<p>$a$</p>');
    const added: string[] = [];
    await draw('<p>$a$ $b$</p>', element => {
      added.push(element.innerHTML);
    });
    expect(added).toEqual(['<mjx-container title="$b$"></mjx-container>']);
  });
});
