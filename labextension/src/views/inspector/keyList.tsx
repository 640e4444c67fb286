/** The list of the inspector's keys. */
import { SmallButton } from '../controls/buttons';
import { ModalDialog } from '../controls/modalDialog';
import { useHost, type IWords } from '../host';

/** Draws the list as a dialog; Escape, its button and a click beside it close it, and the focus goes back. */
export function KeyList({ onClose }: { onClose: () => void }) {
  const { words } = useHost();
  return (
    <ModalDialog
      className="plm-KeyList"
      title={words.__('Keys')}
      onClose={onClose}
    >
      <SmallButton onClick={onClose}>{words.__('Close the list')}</SmallButton>
      {keysByPlace(words).map(({ place, keys }) => (
        <section key={place} role="group" aria-label={place}>
          <h3>{place}</h3>
          <dl>
            {keys.map(([names, meaning]) => (
              <div key={meaning}>
                <dt>
                  {names.map(name => (
                    <kbd key={name}>{name}</kbd>
                  ))}
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </ModalDialog>
  );
}

interface IKeysOfPlace {
  readonly place: string;
  readonly keys: readonly (readonly [
    names: readonly string[],
    meaning: string
  ])[];
}

/** Returns the keys by the places in which they work. */
function keysByPlace(words: IWords): readonly IKeysOfPlace[] {
  return [
    {
      place: words.__('Everywhere but in a field'),
      keys: [
        [
          ['Alt ←', 'Alt →'],
          words.__('back to the place before, forward again')
        ],
        [['n', 'p'], words.__('the next break of the cache, the one before')],
        [['/'], words.__('find items, or words of the request')],
        [['?'], words.__('this list')]
      ]
    },
    {
      place: words.__('On a picture of the requests'),
      keys: [
        [['←', '→'], words.__('one request back, one on')],
        [['PageDown', 'PageUp'], words.__('ten requests back, ten on')],
        [['Home', 'End'], words.__('the first request, the last')],
        [
          [words.__('Shift and these')],
          words.__('choose a range from the cursor, as a drag does')
        ],
        [['Escape'], words.__('show all requests again')]
      ]
    },
    {
      place: words.__('In the grid'),
      keys: [
        [['←', '→', '↑', '↓'], words.__('the cell beside')],
        [
          ['Control ←', 'Control →'],
          words.__('the change of the row before, the next one')
        ],
        [['Control Home', 'Control End'], words.__('the first cell, the last')],
        [['+', '−', '0'], words.__('wider columns, narrower ones, all fit')],
        [['Space'], words.__('unfold a row that holds others, or fold it')],
        [['Enter'], words.__('why the item is, or is not, there')],
        [['Escape'], words.__('back from there, or all requests again')]
      ]
    }
  ];
}
