/** Files that begin like an agent's recording. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  MAX_BEGINNING_BYTES,
  beginsLikeRecording
} from '../../src/inspector/recordingFormats';

const SAMPLES = '../tests/recordings/formats/samples';

describe('a file', () => {
  it.each([
    'pi_version_3.jsonl',
    'gemini_cli.jsonl',
    'openhands_v0.jsonl',
    'otel_genai.jsonl',
    'claude_code/compaction_session.jsonl',
    'printed/claude.jsonl',
    'printed/codex.jsonl',
    'printed/codex_20.jsonl',
    'printed/codex_42.jsonl',
    'printed/gemini.jsonl',
    'printed/gemini_session.jsonl',
    'captured_http/claude_tap.jsonl',
    'captured_http/claude_trace.jsonl',
    'kimi_cli/84d6340d-a2ab-4b23-80e9-9055e61f92da/wire.jsonl'
  ])('is a recording if it begins like %s', name => {
    const text = readFileSync(`${SAMPLES}/${name}`, 'utf8');

    expect(beginsLikeRecording(text.slice(0, MAX_BEGINNING_BYTES))).toBe(true);
  });

  it('is a recording of Claude Code also if a snapshot of its files comes first', () => {
    const line =
      '{"type": "file-history-snapshot", "messageId": "7d01", "snapshot": {}, "isSnapshotUpdate": false}';

    expect(beginsLikeRecording(line)).toBe(true);
  });

  it.each([
    '',
    '[1, 2]',
    'Dear diary',
    '{"text": "a row of a data set", "label": 1}\n{"text": "another"}',
    '{"prompt": "type, timestamp and cwd are words here"}',
    '{"type": "Feature", "geometry": {}, "properties": {}}'
  ])('is text if it begins with %j', text => {
    expect(beginsLikeRecording(text)).toBe(false);
  });

  it('is a recording also if its first line is longer than what is looked at', () => {
    const line = `{"type":"session_meta","timestamp":"2026","payload":{"text":"${'a'.repeat(9000)}`;

    expect(beginsLikeRecording(line)).toBe(true);
  });
});
