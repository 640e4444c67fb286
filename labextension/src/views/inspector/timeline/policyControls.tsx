/** The controls of the second track: which policy, its numbers, by which prices, and how long the cache keeps. */
import { memo, useMemo } from 'react';
import type { SliderView } from '../../../protocol/generated';
import { count } from '../../../state/text/numberFormat';
import {
  parsePolicy,
  policyNames,
  policyText
} from '../../../state/inspector/labels';
import { Disclosure } from '../../controls/disclosure';
import { Picker } from '../../controls/picker';
import { useHost } from '../../host';
import type { IPolicyTrack } from '../controls/policyTrack';
import { useInspectedSession } from '../controls/inspection';
import { PriceControls } from './priceControls';

interface IPolicyControlsProps {
  policy: string;
  track: IPolicyTrack;
  /** Whether the policy's rule is told and the prices can be seen at once. */
  isExplained: boolean;
}

/** Draws picker, sliders, prices, and how long the answer took or why it waits. */
export const PolicyControls = memo(function PolicyControls({
  policy,
  track,
  isExplained
}: IPolicyControlsProps) {
  const { words } = useHost();
  const { view, source, goTo } = useInspectedSession();
  const { name, numbers } = parsePolicy(policy, policyNames(view));
  const { stops } = source;
  const options = useMemo(() => {
    const computed =
      stops === undefined ? null : new Set(stops.map(stop => stop.policy));
    return view.policies
      .filter(option => computed === null || computed.has(option.name))
      .map(option => ({
        value: option.name,
        about: option.what,
        group: projectOf(option.source)
      }));
  }, [view, stops]);
  const option = view.policies.find(option => option.name === name);
  return (
    <div
      className="plm-PolicyControls"
      role="group"
      aria-label={words.__('What if')}
    >
      <span aria-hidden="true">{words.__('policy')}</span>
      <Picker
        label={words.__('Policy')}
        value={name}
        options={options}
        nameOf={value => value}
        onChoose={policy => {
          goTo({ policy });
        }}
      />
      {(option?.sliders ?? []).map(slider => (
        <NumberSlider
          key={slider.name}
          slider={slider}
          value={numbers[slider.name] ?? slider.default}
          onValue={value => {
            goTo({
              policy: policyText(name, { ...numbers, [slider.name]: value })
            });
          }}
        />
      ))}
      {stops !== undefined && (
        <span className="plm-Muted">
          {view.price.unit === 'units'
            ? words.__('in units of an uncached input token')
            : view.price.other_models.length === 0
              ? words.__('by the prices of %1', view.price.name)
              : words.__('by the prices of each request’s model')}
        </span>
      )}
      <span className="plm-Muted" role="status">
        {stateText(track, source.waitSentence ?? '', words)}
      </span>
      {stops === undefined && (
        <Disclosure
          key={String(isExplained)}
          className="plm-PolicyControls-prices"
          head={words.__('prices')}
          open={isExplained}
        >
          <PriceControls />
        </Disclosure>
      )}
      {option !== undefined && isExplained && (
        <p className="plm-PolicyControls-about plm-Muted">
          {option.what} ({option.source})
        </p>
      )}
    </div>
  );
});

function stateText(
  track: IPolicyTrack,
  waitSentence: string,
  words: ReturnType<typeof useHost>['words']
): string {
  if (track.error !== '') {
    return track.error;
  }
  if (track.isWaiting) {
    return waitSentence === '' ? words.__('Counting…') : waitSentence;
  }
  return track.milliseconds === null
    ? ''
    : words.__('counted in %1 ms', count(track.milliseconds));
}

/** Returns the project that a policy was read from: its source up to the version. */
function projectOf(source: string): string {
  return source.split(/,| \(| \d| (?=[0-9a-f]{7,}\b)/)[0] ?? source;
}

interface INumberSliderProps {
  slider: SliderView;
  value: number;
  onValue: (value: number) => void;
}

/** Draws one number: the slider moves from stop to stop. */
function NumberSlider({ slider, value, onValue }: INumberSliderProps) {
  const place = slider.stops.reduce(
    (best, stop, index) =>
      Math.abs(stop - value) < Math.abs((slider.stops[best] ?? 0) - value)
        ? index
        : best,
    0
  );
  const valueText = Number.isInteger(value) ? count(value) : String(value);
  return (
    <label className="plm-PolicyControls-slider">
      <span>{slider.name.replaceAll('_', ' ')}</span>
      <input
        type="range"
        min={0}
        max={slider.stops.length - 1}
        step={1}
        value={place}
        aria-valuetext={valueText}
        onChange={event => {
          onValue(slider.stops[Number(event.target.value)] ?? slider.default);
        }}
      />
      <strong>{valueText}</strong>
    </label>
  );
}
