/** By which prices a session is counted, and for how long the cache keeps a prefix. */
import { memo, useState } from 'react';
import {
  parsePrices,
  pricesText,
  type IPriceChoice
} from '../../../state/inspector/priceWords';
import { SelectField } from '../../controls/fields';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';

/** Draws a choice of models, a field for prices of one's own, and a choice of lifetimes; a question is asked for each. */
export const PriceControls = memo(function PriceControls() {
  const { words } = useHost();
  const { view, price, goTo } = useInspectedSession();
  const chosen = parsePrices(price);
  const choose = (change: Partial<IPriceChoice>) => {
    goTo({ price: pricesText({ ...chosen, ...change }) ?? undefined });
  };
  const models = [
    ...new Set([view.price.name, ...view.models, 'units'])
  ].filter(name => name !== '');
  return (
    <>
      <label className="plm-PolicyControls-price">
        <span>{words.__('price')}</span>
        <SelectField
          value={view.price.name}
          choices={models.map(name => [name, name])}
          onChoose={model => {
            choose({ model });
          }}
        />
      </label>
      <GivenPrices
        given={chosen.modelPrices}
        onGiven={modelPrices => {
          choose({ modelPrices });
        }}
      />
      <label className="plm-PolicyControls-price">
        <span>{words.__('cache kept')}</span>
        <SelectField
          value={chosen.lifetime}
          choices={[
            ['', words.__('unchanged')],
            ['5m', words.__('5 minutes')],
            ['1h', words.__('1 hour')],
            ['1d', words.__('1 day')]
          ]}
          onChoose={lifetime => {
            choose({ lifetime });
          }}
        />
      </label>
    </>
  );
});

interface IGivenPricesProps {
  given: string;
  onGiven: (given: string) => void;
}

/** Draws the field for prices of one's own; what is typed counts when Enter is pressed or the field is left. */
function GivenPrices({ given, onGiven }: IGivenPricesProps) {
  const { words } = useHost();
  const [typed, setTyped] = useState(given);
  const [lastGiven, setLastGiven] = useState(given);
  if (lastGiven !== given) {
    // Drawn anew it would lose the focus.
    setLastGiven(given);
    setTyped(given);
  }
  const submit = () => {
    if (typed.trim() !== given) {
      onGiven(typed.trim());
    }
  };
  return (
    <label className="plm-PolicyControls-price">
      <span>{words.__('own price')}</span>
      <input
        type="text"
        className="plm-Field"
        placeholder={words.__('MODEL=in/out/read/write')}
        title={words.__(
          'US dollars per million tokens: MODEL=in/out/read/write; several with blanks between. Empty takes it back.'
        )}
        size={24}
        value={typed}
        onChange={event => {
          setTyped(event.target.value);
        }}
        onKeyDown={event => {
          if (event.key === 'Enter') {
            submit();
          }
        }}
        onBlur={submit}
      />
    </label>
  );
}
