/**
 * `session.report()`: the inspector alone on a page, over data that is inside it.
 *
 * The link after `#` keeps the place, so that a page can be handed on at a request.
 */
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import {
  linkTo,
  parseLink,
  type IInspectorPlace
} from '../state/inspector/source';
import { HostProvider, type IHost } from '../views/host';
import { Inspector } from '../views/inspector/inspector';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import '../../style/inspector.css';
import '../../style/forcedColors.css';
import '../../style/inspectedCell.css';
import { WORDS } from '../widget/hostParts';
import { PLAIN_TEXT_HOST } from '../widget/plainTextHost';
import { applyTheme } from '../widget/theme';
import { usePrinting } from './printing';
import { readReport } from './reportData';
import { ReportSource } from './reportSource';

const { copy } = PLAIN_TEXT_HOST;
/** Of a report, a link is the address of the file at a place. */
const REPORT_HOST: IHost = {
  ...PLAIN_TEXT_HOST,
  ...(copy === undefined
    ? {}
    : {
        copy: (link: string) => copy(new URL(`#${link}`, location.href).href)
      })
};

const NOWHERE: IInspectorPlace = { request: null, item: null };

begin();

function begin(): void {
  const place = document.getElementById('inspector');
  const savedHtml = document.getElementById('saved');
  const packedData: unknown = Reflect.get(globalThis, 'palimpsestReport');
  const data = readReport(packedData);
  if (place === null || data === null) {
    return;
  }
  applyTheme(place);
  place.hidden = false;
  if (savedHtml !== null) {
    savedHtml.hidden = true;
  }
  createRoot(place).render(
    <HostProvider value={REPORT_HOST}>
      <Report
        source={new ReportSource(data, WORDS)}
        session={data.view.session}
        place={place}
      />
    </HostProvider>
  );
}

function Report({
  source,
  session,
  place: element
}: {
  source: ReportSource;
  session: string;
  place: HTMLElement;
}) {
  const isPrinted = usePrinting(element);
  const [place, setPlace] = useState(placeOfAddress);
  useEffect(() => {
    const follow = () => {
      setPlace(placeOfAddress());
    };
    window.addEventListener('hashchange', follow);
    return () => {
      window.removeEventListener('hashchange', follow);
    };
  }, []);
  return (
    <Inspector
      source={source}
      place={place}
      isPrinted={isPrinted}
      onPlace={next => {
        setPlace(next);
        history.replaceState(null, '', `#${linkTo(session, next)}`);
      }}
    />
  );
}

function placeOfAddress(): IInspectorPlace {
  return parseLink(location.hash.slice(1))?.place ?? NOWHERE;
}
