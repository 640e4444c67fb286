/** The choice by which prices a session is counted, and for how long the cache keeps a prefix. */
import { memo, useState } from 'react';
import {
  parsePrices,
  pricesText,
  type IPriceChoice
} from '../../../state/inspector/priceWords';
import { SelectField } from '../../controls/fields';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';

/** Draws a choice of models, a field for prices of one's own, and a choice of lifetimes; each change asks the source again. */
export const PriceControls = memo(function PriceControls() {
  const { words } = useHost();
  const { view, price, goTo } = useInspectedSession();
  const chosenPrices = parsePrices(price);
  const choosePrices = (change: Partial<IPriceChoice>) => {
    goTo({ price: pricesText({ ...chosenPrices, ...change }) ?? undefined });
  };
  const priceNames = [
    ...new Set([view.price.name, ...view.models, 'units'])
  ].filter(name => name !== '');
  return (
    <>
      <label className="plm-PolicyControls-price">
        <span>{words.__('price')}</span>
        <SelectField
          value={view.price.name}
          choices={priceNames.map(name => [name, name])}
          onChoose={model => {
            choosePrices({ model });
          }}
        />
      </label>
      <GivenPrices
        givenPrices={chosenPrices.modelPrices}
        onGiven={modelPrices => {
          choosePrices({ modelPrices });
        }}
      />
      <label className="plm-PolicyControls-price">
        <span>{words.__('cache kept')}</span>
        <SelectField
          value={chosenPrices.lifetime}
          choices={[
            ['', words.__('unchanged')],
            ['5m', words.__('5 minutes')],
            ['1h', words.__('1 hour')],
            ['1d', words.__('1 day')]
          ]}
          onChoose={lifetime => {
            choosePrices({ lifetime });
          }}
        />
      </label>
    </>
  );
});

interface IGivenPricesProps {
  givenPrices: string;
  onGiven: (given: string) => void;
}

/** Draws the field for prices of one's own; what is typed counts when Enter is pressed or the field is left. */
function GivenPrices({ givenPrices, onGiven }: IGivenPricesProps) {
  const { words } = useHost();
  const [typedPrices, setTypedPrices] = useState(givenPrices);
  const [lastGiven, setLastGiven] = useState(givenPrices);
  if (lastGiven !== givenPrices) {
    // A new field would lose the focus.
    setLastGiven(givenPrices);
    setTypedPrices(givenPrices);
  }
  const submit = () => {
    if (typedPrices.trim() !== givenPrices) {
      onGiven(typedPrices.trim());
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
        value={typedPrices}
        onChange={event => {
          setTypedPrices(event.target.value);
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
