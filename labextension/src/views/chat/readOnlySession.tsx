/**
 * A session to look at: its title, how it stands, and its story. Nothing can be done in it.
 */
import type { ITranscript } from '../../state/store/transcript';
import { useHost } from '../host';
import { Announcements } from '../transcript/liveRegion';
import { sessionTitle } from '../sessions/sessionLabels';
import { SessionActivity } from './sessionActivity';
import { Transcript } from '../transcript/transcript';
import { ContextWindow } from '../modelContext/contextWindow';

interface ISessionViewProps {
  transcript: ITranscript;
  /** What the reader must know of it, such as that its kernel has ended; empty when nothing. */
  remark: string;
  /** Somebody else in this page tells a screen reader what happens. */
  isQuiet?: () => boolean;
}

/** Draws the session. */
export function SessionView({
  transcript,
  remark,
  isQuiet
}: ISessionViewProps) {
  const { words } = useHost();
  const title = sessionTitle(transcript.session?.title ?? '', words);
  return (
    <section
      className="plm-Panel plm-View"
      aria-label={words.__('Session: %1', title)}
    >
      <div className="plm-Panel-head">
        <div className="plm-Panel-row">
          <h2 className="plm-Panel-title plm-View-title">{title}</h2>
          <SessionActivity transcript={transcript} />
        </div>
        <ContextWindow transcript={transcript} />
        {remark !== '' && (
          <p className="plm-Muted plm-View-remark" role="status">
            {remark}
          </p>
        )}
      </div>
      <Transcript
        transcript={transcript}
        readOnly
        empty={
          <p className="plm-Muted">
            {words.__('Nothing was said in this session yet.')}
          </p>
        }
      />
      <Announcements transcript={transcript} isQuiet={isQuiet} />
    </section>
  );
}
