import { createSocket } from "node:dgram";
import { once } from "node:events";
import { crc32 } from "node:zlib";

/** RoCEv2 as two ends on the loopback interface would speak it, for an agent that watches there. */

const PORT = 4791;
const SEND_ONLY = 0x04;
const ACKNOWLEDGE = 0x11;
const REQUESTER_QP = 0x12;
const RESPONDER_QP = 0x11;

const loopback = Buffer.alloc(16);
loopback[15] = 1;

function bth(opcode: number, qp: number, psn: number): Buffer {
  const header = Buffer.alloc(12);
  header[0] = opcode;
  header.writeUInt16BE(0xffff, 2);
  header.writeUInt32BE(qp, 4);
  header.writeUInt32BE(psn, 8);
  if (opcode === SEND_ONLY) header[8] = 0x80; // asks for an ACK
  return header;
}

function acknowledge(psn: number, syndrome: number, msn: number): Buffer {
  const aeth = Buffer.alloc(4);
  aeth.writeUInt32BE(((syndrome << 24) | msn) >>> 0);
  return Buffer.concat([bth(ACKNOWLEDGE, REQUESTER_QP, psn), aeth]);
}

/** A packet with its ICRC, over which fields that routers change count as ones (IBTA annex A17.3.3). */
function sealed(packet: Buffer, sourcePort: number): Buffer {
  const ip = Buffer.alloc(8, 0xff);
  ip[0] = 0x6f;
  ip.writeUInt16BE(8 + packet.length + 4, 4);
  ip[6] = 17;
  const udp = Buffer.alloc(8, 0xff);
  udp.writeUInt16BE(sourcePort, 0);
  udp.writeUInt16BE(PORT, 2);
  udp.writeUInt16BE(8 + packet.length + 4, 4);
  const masked = Buffer.from(packet);
  masked[4] = 0xff;
  const icrc = Buffer.alloc(4);
  icrc.writeUInt32LE(crc32(Buffer.concat([Buffer.alloc(8, 0xff), ip, loopback, loopback, udp, masked])));
  return Buffer.concat([packet, icrc]);
}

/** Sends messages that are answered well, and then one that is answered by a syndrome that there is not. */
export async function converse(messages: number): Promise<void> {
  const socket = createSocket("udp6");
  socket.bind(0, "::1");
  await once(socket, "listening");
  const { port } = socket.address();
  const send = (packet: Buffer): Promise<void> => new Promise((resolve, reject) => socket.send(sealed(packet, port), PORT, "::1", (error) => (error ? reject(error) : resolve())));
  // Nobody listens, and the kernel says so; a socket that is not connected does not mind.
  socket.on("error", () => {});
  for (let psn = 1; psn <= messages; psn++) {
    await send(Buffer.concat([bth(SEND_ONLY, RESPONDER_QP, psn), Buffer.alloc(64)]));
    await send(acknowledge(psn, psn === messages ? 0x7f : 0x1f, psn));
  }
  socket.close();
}
