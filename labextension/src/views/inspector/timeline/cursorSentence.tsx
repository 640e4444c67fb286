/** The cost of the request at the cursor and its cause, in a sentence, with buttons to expensive requests. */
import { memo, useMemo } from 'react';
import { count } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import { priceSourceText } from '../../../state/inspector/labels';
import {
  dearestRequest,
  nearestRequest,
  pricesOfRequest,
  requestCost
} from '../../../state/inspector/figures/requestCost';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { TOOLBAR_KEYS, useListFocus } from '../controls/listFocus';
import { RequestField } from '../controls/requestField';
import { StepButton } from '../controls/stepButton';
import { costWords, priceSentence, type ICostWords } from './costWords';
import { TextWithTerm } from '../glossary/term';

/** Draws the request's number as a field, buttons to the dearest request and to breaks, and its sentence. */
export const CursorSentence = memo(function CursorSentence() {
  const { words } = useHost();
  const { view, shownTrack, request, goTo } = useInspection();
  const total = view.requests.id.length;
  const { unit } = view.price;
  const { name } = pricesOfRequest(view, request);
  const source = priceSourceText(view);
  const cost = requestCost(view, shownTrack.track, request);
  const texts = costWords(cost, view.price, words);
  const dearest = useMemo(
    () => dearestRequest(view, shownTrack.track),
    [view, shownTrack.track]
  );
  const breaks = useMemo(
    () => view.breaks.map(cacheBreak => cacheBreak.request),
    [view]
  );
  const before = nearestRequest(breaks, request, -1);
  const after = nearestRequest(breaks, request, 1);
  const toolbar = useListFocus(breaks.length > 0 ? 3 : 1, TOOLBAR_KEYS);
  const move = (to: number | null) => {
    if (to !== null) {
      goTo({ request: to, against: null });
    }
  };
  return (
    <section
      role="group"
      className="plm-CursorSentence"
      // The skip link leads here.
      tabIndex={-1}
      aria-label={words.__('What the request cost')}
    >
      <label className="plm-CursorSentence-place">
        <strong>{words.__('Request')}</strong>
        <RequestField request={request} onRequest={move} />
        <span className="plm-Muted">{words.__('of %1', count(total))}</span>
      </label>
      <div
        className="plm-Inspector-buttons"
        role="toolbar"
        aria-label={words.__('Expensive requests')}
        {...toolbar.handlers}
      >
        <StepButton
          isAtEnd={request === dearest}
          onStep={() => {
            move(dearest);
          }}
          tabIndex={toolbar.tabIndexOf(0)}
        >
          {words.__('Dearest request')}
        </StepButton>
        {breaks.length > 0 && (
          <>
            <StepButton
              isAtEnd={before === null}
              onStep={() => {
                move(before);
              }}
              tabIndex={toolbar.tabIndexOf(1)}
            >
              {words.__('Break before')}
            </StepButton>
            <StepButton
              isAtEnd={after === null}
              onStep={() => {
                move(after);
              }}
              tabIndex={toolbar.tabIndexOf(2)}
            >
              {words.__('Next break')}
            </StepButton>
          </>
        )}
      </div>
      <p className="plm-CursorSentence-words">
        <strong>{texts.amount}</strong> <Cause texts={texts} />
        {request === dearest && total > 1 && (
          <>
            {' '}
            <strong>{words.__('No request cost more.')}</strong>
          </>
        )}
        {!cost.isCostRecorded && unit === 'USD' && (
          <>
            {' '}
            <span className="plm-Muted">
              {priceSentence(oneLine(name), source, words)}
            </span>
          </>
        )}
      </p>
    </section>
  );
});

/** Draws how many tokens were written anew and why, or that the cache held. */
function Cause({ texts }: { texts: ICostWords }) {
  return (
    <>
      {texts.anew !== '' && (
        <>
          <span className="plm-CursorSentence-anew">
            <TextWithTerm term="written anew" text={`${texts.anew}:`} />
          </span>{' '}
        </>
      )}
      {texts.sentences.map((sentence, index) => (
        <bdi key={index}>{sentence} </bdi>
      ))}
    </>
  );
}
